import { writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Plugin } from 'vite'

const root = join(import.meta.dirname, '../../..')

/** Collects the files whose code is in a build. A release names their packages. */
export class SourceList {
  readonly #files: Record<string, { readonly sources: readonly string[] }> = {}

  /** The plugin that collects them. */
  readonly plugin: Plugin = {
    name: 'holt:source-list',
    generateBundle: (_, bundle) => {
      for (const file of Object.values(bundle)) {
        const modules = file.type === 'chunk' ? Object.keys(file.modules) : []
        this.#files[file.fileName] = { sources: modules.map((id) => relative(root, id)) }
      }
    },
  }

  /** Writes the files as `files.json` of a bundle has them: paths in the repository, by output. */
  async write(path: string): Promise<void> {
    await writeFile(path, JSON.stringify(this.#files))
  }
}
