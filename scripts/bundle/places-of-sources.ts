import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import type { Plugin } from 'rolldown'

const ownSource = /\/packages\/[^/]+\/src\/.*\.ts$/
const programBeside = /new URL\(\s*'(\.{1,2}\/[^']+\.ts)',\s*import\.meta\.url,?\s*\)/g

/** The facts about the bundle that the plugin needs. */
interface BundlePlaces {
  readonly root: string
  /** The directory of all files of the bundle. */
  readonly outDir: string
  /** The name of each program that is bundled by its source file. */
  readonly programs: Readonly<Record<string, string>>
}

/**
 * Keeps what a source file finds by its own place. `new URL('./x.ts', import.meta.url)` names a program of its own, for a Worker or a child process: it
 * is bundled as well, and the URL is that of its bundle. Any other `import.meta.url` stays the place of the source file: data lies where it lay.
 */
export function keepPlacesOfSources({ root, outDir, programs }: BundlePlaces): Plugin {
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
        const place = relative(outDir, id).split(sep).join('/')
        return withPrograms
          .replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`)
          .replaceAll('import.meta.ownUrl', 'import.meta.url')
      },
    },
  }
}

/** `packages/builder/src/a/read.ts` as `builder-a-read.mjs`. */
function programNameOf(file: string): string {
  const [, packageName = '', , ...path] = file.split(sep)
  return `${[packageName, ...path.slice(0, -1), basename(file, '.ts')].join('-')}.mjs`
}
