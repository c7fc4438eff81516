import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A file of a built site, as the build's manifest describes it. */
export interface SiteFile {
  readonly type: string
  readonly digest: string
  /** True if the file is there with brotli and gzip too. Absent: with gzip only, in the docs. */
  readonly compressed?: boolean
}

/** The files of a built site by their paths, and the policy of its pages. */
export interface Manifest {
  readonly policy: string
  readonly files: ReadonlyMap<string, SiteFile>
}

/**
 * A built site in a directory. Only the files of its manifest exist: a path is looked up and never
 * resolved. A new build is noticed without a restart.
 */
export class Site {
  readonly #dir: string
  #read: { readonly version: string; readonly manifest: Manifest } | null = null

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Returns the manifest, or null if the site is not built. */
  async manifest(): Promise<Manifest | null> {
    const path = join(this.#dir, 'manifest.json')
    try {
      const { ino, mtimeMs } = await stat(path)
      const version = `${ino} ${mtimeMs}`
      if (this.#read?.version !== version) {
        const { policy, files } = JSON.parse(await readFile(path, 'utf8'))
        this.#read = { version, manifest: { policy, files: new Map(Object.entries<SiteFile>(files)) } }
      }
      return this.#read.manifest
    } catch (error) {
      return nullIfAbsent(error)
    }
  }

  /** Opens a file of the manifest. Returns null if a new build has just replaced the site. */
  async open(name: string): Promise<FileHandle | null> {
    try {
      return await open(join(this.#dir, name))
    } catch (error) {
      return nullIfAbsent(error)
    }
  }
}

function nullIfAbsent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
  throw error
}
