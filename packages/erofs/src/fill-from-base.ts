import type { Entry, ExportEntry, FileEntry, MountEntry, UnchangedEntry } from './entry.ts'
import { ErofsInputError } from './errors.ts'
import type { ImageReader } from './read/image-reader.ts'

/**
 * Makes the export of a runtime whole with the image that the runtime is made of: the content of unchanged files comes from there, and so does what its mounts hide. An
 * unchanged file that the image does not have, with this size, is `base_mismatch`. Without an image mount points are empty directories.
 */
export async function* fillFromBase(
  entries: AsyncIterable<ExportEntry>,
  base: ImageReader | null,
): AsyncGenerator<Entry> {
  for await (const entry of entries) {
    if (entry.type === 'unchanged') yield await fill(entry, base)
    else if (entry.type === 'mount') yield* uncover(entry, base)
    else if (entry.type === 'file' && base !== null) yield await suggest(entry, base)
    else yield entry
  }
}

async function fill(entry: UnchangedEntry, base: ImageReader | null): Promise<Entry> {
  const found = base === null ? null : await base.find(entry.path)
  if (base === null || found === null || found.inode.type !== 'file' || found.inode.size !== entry.size) {
    throw new ErofsInputError('base_mismatch', entry.path, 'the image below has no such file of this size')
  }
  return { ...entry, type: 'file', ...base.file(found) }
}

/** A file that has the size of the one below may have its content as well: not every runtime can tell. */
async function suggest(entry: FileEntry, base: ImageReader): Promise<Entry> {
  const found = entry.size === 0 ? null : await base.find(entry.path)
  if (found?.inode.type !== 'file' || found.inode.size !== entry.size) return entry
  return { ...entry, perhapsStored: base.file(found).stored }
}

async function* uncover(entry: MountEntry, base: ImageReader | null): AsyncGenerator<Entry> {
  const { kind, isDirectory, ...attributes } = entry
  if (base === null) {
    if (isDirectory) yield { ...attributes, type: 'directory' }
    return
  }
  const found = await base.find(entry.path)
  if (found === null) return
  if (kind === 'point') yield* base.entries(found)
  else if (found.inode.type === 'directory') {
    // Its time is that of the mount points in it.
    const { mtimeSecs, mtimeNanos } = found.inode
    yield { ...attributes, mtimeSecs, mtimeNanos, type: 'directory' }
  }
}
