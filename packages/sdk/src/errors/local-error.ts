import { HoltError, type HoltErrorCode } from './errors.ts'

/** The codes and hints for failures of the local file system, by Node's codes. */
const known: Readonly<Record<string, readonly [code: HoltErrorCode, hint: string]>> = {
  ENOENT: ['path_not_found', 'Give a path that exists on this machine.'],
  ENOTDIR: ['not_a_directory', 'Give a directory of this machine.'],
  EISDIR: ['is_directory', 'Give a file of this machine.'],
  EACCES: ['path_permission_denied', 'Give this user access to the path, or give another path.'],
  EPERM: ['path_permission_denied', 'Give this user access to the path, or give another path.'],
  EROFS: ['path_permission_denied', 'Give a path on a writable file system.'],
  EEXIST: ['already_exists', 'Set overwrite, or choose another destination.'],
  ELOOP: ['symlink_loop', 'Give a path whose symbolic links form no circle.'],
  ENOSPC: ['disk_full', 'Free space on the disk of this machine.'],
  EDQUOT: ['disk_full', 'Free space on the disk of this machine.'],
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist on this machine',
  ENOTDIR: 'leads through something that is not a directory',
  EISDIR: 'is a directory',
  EACCES: 'is not accessible to this user',
  EPERM: 'is not accessible to this user',
  EROFS: 'is on a file system that is read-only',
  EEXIST: 'already exists',
  ELOOP: 'leads through too many links',
  ENOSPC: 'does not fit: the disk is full',
  EDQUOT: 'does not fit: the quota of this user is used up',
}

/**
 * Returns the `HoltError` for a failed system call of this machine, with Node's error as `cause`.
 * Other values are returned unchanged.
 */
export function localError(error: unknown): unknown {
  if (!isSystemError(error)) return error
  const { code, path } = error
  const [ours, hint] = known[code] ?? ['local_file_error', undefined]
  const what = words[code]
  const message = path === undefined || what === undefined ? error.message : `${path} ${what}`
  return new HoltError(ours, message, { hint, cause: error })
}

/** Runs work on local files. A failed system call becomes a `HoltError`. */
export async function withLocalErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw localError(error)
  }
}

/** Yields parts that are read from this machine. A failed system call becomes a `HoltError`. */
export async function* readHere<Part>(parts: AsyncIterable<Part>): AsyncGenerator<Part, void, undefined> {
  try {
    yield* parts
  } catch (error) {
    throw localError(error)
  }
}

/** Returns true for Node's error of a system call. */
function isSystemError(error: unknown): error is Error & { readonly code: string; readonly path?: string } {
  return error instanceof Error && 'syscall' in error && typeof (error as { code?: unknown }).code === 'string'
}
