import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes the manifest of a compiled package next to its JavaScript. `npm publish ./dist` publishes
 * it, while the workspace runs the source. Runs in the package's directory, as `npm run build`
 * does: `write-manifest.ts [DIR]`, by default dist.
 */
const [out = 'dist'] = process.argv.slice(2)
const { scripts: _, ...published } = JSON.parse(await readFile('package.json', 'utf8'))
const compiled = { ...published, exports: { '.': { types: './index.d.ts', default: './index.js' } } }
await writeFile(join(out, 'package.json'), `${JSON.stringify(compiled, null, 2)}\n`)
await copyFile('README.md', join(out, 'README.md'))
await copyFile('../../LICENSE', join(out, 'LICENSE'))
