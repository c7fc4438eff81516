import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { dropUnusedSchemas } from './drop-unused-schemas.ts'
import { keepFactsAsData } from './facts-as-data.ts'
import { lightenCommander } from './lighten-commander.ts'
import { keepPlacesOfSources } from './places-of-sources.ts'

/** The file names of the programs that users and units start, by source file. */
const programs = { 'packages/cli/src/main.ts': 'holt.mjs', 'packages/server/src/main.ts': 'holtd.mjs' } as const

/** The input and the output directory of a bundle. */
interface BundleOptions {
  readonly root: string
  readonly outDir: string
  /** A unique id of this bundle. */
  readonly id: string
  /** See `keepPlacesOfSources`: for a release only. */
  readonly released?: Readonly<Record<string, string>> | undefined
}

/** A file of the bundle: its sources, and the files that load with it and later. */
interface BundledFile {
  readonly sources: readonly string[]
  readonly imports: readonly string[]
  readonly later: readonly string[]
}

/**
 * Bundles both programs and everything they import into one directory, with separate files for code
 * that is loaded later. `files.json` lists the sources in each file. The two are bundled
 * separately, so that the command does not carry code of the service.
 */
export async function makeBundle({ root, outDir, id, released }: BundleOptions): Promise<void> {
  const places = keepPlacesOfSources({ root, outDir, programs, released })
  const facts = keepFactsAsData(root, {
    'packages/cli/src/bundle-id.ts': { bundleId: id },
    'packages/cli/src/verb-outlines.ts': null,
    'packages/cli/src/verb/version.ts': null,
    'packages/sdk/src/transport/route-addresses.ts': null,
    'packages/server/src/foundation/config/version.ts': null,
  })
  const files = [
    ...(await bundleProgram('packages/cli/src/main.ts', {
      root,
      outDir,
      plugins: [facts, places, dropUnusedSchemas(), lightenCommander()],
    })),
    ...(await bundleProgram('packages/server/src/main.ts', { root, outDir, plugins: [facts, places] })),
  ]
  await writeFile(join(outDir, 'files.json'), JSON.stringify(Object.fromEntries(files)))
}

async function bundleProgram(
  source: keyof typeof programs,
  { root, outDir, plugins }: { root: string; outDir: string; plugins: readonly Plugin[] },
): Promise<readonly (readonly [string, BundledFile])[]> {
  const input = { [programs[source].replace('.mjs', '')]: join(root, source) }
  await using bundle = await rolldown({ cwd: root, input, platform: 'node', plugins: [...plugins], logLevel: 'warn' })
  const { output } = await bundle.write({
    dir: outDir,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    comments: { legal: true, annotation: false, jsdoc: false },
  })
  return output
    .filter((file) => file.type === 'chunk')
    .map((chunk) => [chunk.fileName, contentsOf(chunk, root)] as const)
}

function contentsOf({ moduleIds, imports, dynamicImports }: OutputChunk, root: string): BundledFile {
  // The bundler's own modules have no source.
  const sources = moduleIds.filter((id) => !id.startsWith('\0')).map((id) => relative(root, id))
  return { sources, imports, later: dynamicImports }
}
