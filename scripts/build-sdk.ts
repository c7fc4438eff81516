import { execFileSync } from 'node:child_process'
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { dropUnusedSchemas } from './bundle/drop-unused-schemas.ts'
import { keepFactsAsData } from './bundle/facts-as-data.ts'
import { emptyOwnDirectory } from './lib/empty-own-directory.ts'
import { writeDeclarations } from './sdk/write-declarations.ts'

const root = join(import.meta.dirname, '..')
const ownDir = join(root, 'packages/sdk/dist')

/**
 * Builds the package of the client into a directory: `node scripts/build-sdk.ts [DIRECTORY]`, by
 * default packages/sdk/dist. It needs no other package: it includes the code that it uses of the
 * workspace. Of the contract, these are types with their descriptions, and no schemas.
 */
async function main(outDir: string): Promise<void> {
  await emptyOwnDirectory(outDir, ownDir)
  const [client, contract] = ['sdk', 'protocol'].map((name) => declare(name, join(outDir, 'declared', name)))
  if (client === undefined || contract === undefined) return
  await writeDeclarations({ client, contract, outDir })
  await rm(join(outDir, 'declared'), { recursive: true })
  await bundleClient(outDir)
  await writeManifest(outDir)
}

/** Compiles the declarations of a package. */
function declare(name: string, outDir: string): string {
  const project = join(root, 'packages', name, 'tsconfig.build.json')
  const options = ['--emitDeclarationOnly', '--sourceMap', 'false', '--outDir', outDir]
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', project, ...options], { stdio: 'inherit' })
  return outDir
}

async function bundleClient(dir: string): Promise<void> {
  await using bundle = await rolldown({
    cwd: root,
    input: join(root, 'packages/sdk/src/index.ts'),
    platform: 'node',
    transform: { target: 'es2022' },
    plugins: [keepFactsAsData(root, { 'packages/sdk/src/transport/route-addresses.ts': null }), dropUnusedSchemas()],
    logLevel: 'warn',
  })
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' })
}

/**
 * Writes the manifest of the built package. It is the source's without the fields that only the
 * workspace needs.
 */
async function writeManifest(outDir: string): Promise<void> {
  const source = join(root, 'packages/sdk')
  const {
    scripts: _,
    dependencies: __,
    ...published
  } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  const built = { ...published, sideEffects: false, exports: { '.': { types: './index.d.ts', default: './index.js' } } }
  await writeFile(join(outDir, 'package.json'), `${JSON.stringify(built, null, 2)}\n`)
  const readme = await readFile(join(source, 'README.md'), 'utf8')
  // The package has no other pages of the repository to link to.
  await writeFile(join(outDir, 'README.md'), readme.replace(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1'))
  await copyFile(join(root, 'LICENSE'), join(outDir, 'LICENSE'))
}

await main(process.argv[2] ?? ownDir)
