import { copyFile, readFile, writeFile } from 'node:fs/promises'

/** Writes the manifest of the compiled package beside it: `npm publish dist` publishes JavaScript, while the workspace runs the source. */
const manifest = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
const { scripts: _, files: __, ...published } = manifest
const target = process.argv[2] ?? new URL('../dist', import.meta.url).pathname
const compiled = { ...published, exports: { '.': { types: './index.d.ts', default: './index.js' } } }
await writeFile(`${target}/package.json`, `${JSON.stringify(compiled, null, 2)}\n`)
await copyFile(new URL('../README.md', import.meta.url), `${target}/README.md`)
