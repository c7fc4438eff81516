import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/** The part of a written file of the bundler that is read. */
interface WrittenFile {
  readonly type: string
  readonly moduleIds?: readonly string[]
}

/**
 * Returns a plugin of Vite that writes the sources of the site's scripts into a file, in the form
 * of a bundle's `files.json`. A release lists the licences of these packages.
 */
export function listSources(target: string | null) {
  const found = new Set<string>()
  return {
    name: 'list-sources',
    generateBundle(_: unknown, files: Readonly<Record<string, WrittenFile>>) {
      for (const file of Object.values(files)) for (const id of file.moduleIds ?? []) found.add(id)
      if (target === null) return
      const sources = [...found].filter((id) => id.startsWith('/')).map((id) => relative(import.meta.dirname, id))
      writeFileSync(target, JSON.stringify({ site: { sources: sources.toSorted() } }))
    },
  }
}
