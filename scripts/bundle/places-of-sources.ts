import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { Plugin } from 'rolldown'

const ownSource = /\/packages\/[^/]+\/src\/.*\.ts$/
const fileBeside = /new URL\(\s*'(\.{1,2}\/[^']+)',\s*import\.meta\.url,?\s*\)/g
const programBeside = /new URL\(\s*'(\.{1,2}\/[^']+\.ts)',\s*import\.meta\.url,?\s*\)/g

/** The facts about the bundle that the plugin needs. */
interface BundlePlaces {
  readonly root: string
  /** The directory of all files of the bundle. */
  readonly outDir: string
  /** The file name of each separately bundled program, by its source file. */
  readonly programs: Readonly<Record<string, string>>
  /**
   * The places in a release of the files and directories that sources name: paths relative to the
   * bundle, by path in the repository. Without it the bundle stays in the repository.
   */
  readonly released?: Readonly<Record<string, string>> | undefined
}

/**
 * Preserves the paths that a source file derives from its own location. `new URL('./x.ts',
 * import.meta.url)` names a separate program, for a Worker or a child process: it is bundled as
 * well, and the URL leads to its bundle. Any other `import.meta.url` stays the location of the
 * source file, so data is found where it was. In a release, each such file has its own place there.
 */
export function keepPlacesOfSources({ root, outDir, programs, released }: BundlePlaces): Plugin {
  return {
    name: 'keep-places-of-sources',
    transform: {
      filter: { id: ownSource, code: /import\.meta\.url/ },
      handler(code, id) {
        const withPrograms = code.replace(programBeside, (_, path: string) => {
          const file = join(dirname(id), path)
          if (!existsSync(file)) this.error(`${relative(root, id)} names ${path}, which is not there`)
          const fileName = programs[relative(root, file)] ?? programNameOf(relative(root, file))
          if (!Object.values(programs).includes(fileName)) this.emitFile({ type: 'chunk', id: file, fileName })
          return `new URL('./${fileName}', import.meta.ownUrl)`
        })
        if (released !== undefined) return inRelease(withPrograms, { root, id, released })
        const place = relative(outDir, id).split(sep).join('/')
        return withPrograms
          .replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`)
          .replaceAll('import.meta.ownUrl', 'import.meta.url')
      },
    },
  }
}

/**
 * Returns the file name of a program's bundle: `builder-a-read.mjs` for
 * `packages/builder/src/a/read.ts`.
 */
function programNameOf(file: string): string {
  const [, packageName = '', , ...path] = file.split(sep)
  return `${[packageName, ...path.slice(0, -1), basename(file, '.ts')].join('-')}.mjs`
}

/** Replaces the paths that are relative to a source file by their places in a release. */
function inRelease(
  code: string,
  { root, id, released }: { root: string; id: string; released: Readonly<Record<string, string>> },
): string {
  const placed = code.replace(fileBeside, (_, path: string) => {
    const file = relative(root, join(dirname(id), path))
    const place = placeInRelease(file, released)
    if (place === null) throw new Error(`${relative(root, id)} names ${file}, which is not in the release`)
    return `new URL('${place}', import.meta.ownUrl)`
  })
  if (placed.includes('import.meta.url')) throw new Error(`${relative(root, id)} needs a place that the release lacks`)
  return placed.replaceAll('import.meta.ownUrl', 'import.meta.url')
}

function placeInRelease(file: string, released: Readonly<Record<string, string>>): string | null {
  for (const [path, place] of Object.entries(released)) {
    if (file === path) return place
    if (file.startsWith(`${path}/`)) return `${place}${file.slice(path.length)}`
  }
  return null
}
