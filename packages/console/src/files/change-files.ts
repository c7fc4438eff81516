import type { Files } from '@holt/sdk'
import { pathIn } from './file-paths.ts'
import type { FileRow } from './file-row.ts'

/** The changes that run at a time. */
const atOnce = 4

/** A change that failed. */
export interface FailedChange {
  readonly path: string
  readonly error: unknown
}

/** Changes files, a few at a time. Returns the changes that failed; the others are made. */
async function changeAll(
  rows: readonly FileRow[],
  change: (row: FileRow) => Promise<unknown>,
): Promise<readonly FailedChange[]> {
  const left = [...rows]
  const failed: FailedChange[] = []
  const work = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      try {
        await change(row)
      } catch (error) {
        failed.push({ path: row.file.path, error })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return failed
}

/** Removes files, and directories with their content. */
export function removeAll(files: Files, rows: readonly FileRow[]): Promise<readonly FailedChange[]> {
  return changeAll(rows, ({ file }) => files.remove(file.path, { recursive: file.type === 'directory' }))
}

/** The place for files that are copied or moved. */
export interface NewPlace {
  readonly dir: string
  /** The new name of a single file; null if each keeps its own. */
  readonly name: string | null
  /** True if what is there is replaced. */
  readonly overwrite: boolean
}

/** Copies or moves files into a directory. */
export function transferAll(
  files: Files,
  verb: 'copy' | 'move',
  { rows, place }: { readonly rows: readonly FileRow[]; readonly place: NewPlace },
): Promise<readonly FailedChange[]> {
  const { dir, name, overwrite } = place
  return changeAll(rows, ({ file }) => {
    const to = pathIn(dir, name ?? file.name)
    if (verb === 'move') return files.move(file.path, to, { overwrite })
    return files.copy(file.path, to, { overwrite, recursive: file.type === 'directory' })
  })
}
