import type { Place } from './files.ts'

/** A change below a watched directory, with absolute paths. */
export type FileChange =
  | {
      readonly type: 'created' | 'modified' | 'attributes' | 'removed'
      readonly path: string
      readonly isDirectory: boolean
    }
  | { readonly type: 'moved'; readonly from: string; readonly path: string; readonly isDirectory: boolean }
  /** Changes were lost. */
  | { readonly type: 'lost' }

/** A watched directory. */
export interface OpenWatch {
  /** The absolute path of the directory. */
  readonly path: string
  /** The changes after the start of the watch. They end when the directory is removed. */
  readonly changes: AsyncIterable<FileChange>
}

/** The watches of a sandbox. */
export interface Watches {
  /**
   * Watches a directory. Resolves when all later changes are seen. Throws `ConnectError`:
   * `not_found`, or `invalid_argument` for another file.
   */
  watch(request: Place & { readonly recursive: boolean }, signal: AbortSignal): Promise<OpenWatch>
}
