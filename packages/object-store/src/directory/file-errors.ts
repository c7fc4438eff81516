import { stat } from 'node:fs/promises'
import { ObjectStoreError, type ObjectStoreErrorKind } from '../contract/object-store-error.ts'

const kinds: Readonly<Record<string, ObjectStoreErrorKind>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EISDIR: 'not_found',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
  EACCES: 'refused',
  EPERM: 'refused',
  EROFS: 'refused',
  ENAMETOOLONG: 'invalid',
}

/** Runs a function, and turns failures of the file system into those of a store. */
export async function withStoreErrors<Result>(root: string, key: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw await asStoreError(root, key, error)
  }
}

async function asStoreError(root: string, key: string, error: unknown): Promise<unknown> {
  const code = codeOf(error)
  if (code === null) return error
  const kind = kinds[code] ?? 'unavailable'
  if (kind === 'not_found' && !(await isThere(root)))
    return new ObjectStoreError('unavailable', `the directory of the object store is missing: ${root}`, {
      cause: error,
    })
  return new ObjectStoreError(kind, `${key}: ${(error as Error).message}`, { cause: error })
}

/** Returns the code of an error of a system call; null for other errors. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : null
}

async function isThere(directory: string): Promise<boolean> {
  try {
    return (await stat(directory)).isDirectory()
  } catch {
    return false // Whatever the reason, its files cannot be told from missing ones.
  }
}
