import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes the manifest of a compiled package into its dist: `npm publish ./dist` publishes JavaScript, while the workspace
 * runs the source. Run in the package's directory, as `npm run build` does.
 */
const dir = process.cwd()
const { scripts: _, ...published } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'))
const compiled = { ...published, exports: { '.': { types: './index.d.ts', default: './index.js' } } }
await writeFile(join(dir, 'dist/package.json'), `${JSON.stringify(compiled, null, 2)}\n`)
await copyFile(join(dir, 'README.md'), join(dir, 'dist/README.md'))
