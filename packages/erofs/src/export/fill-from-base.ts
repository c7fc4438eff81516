import type { Entry, ExportEntry, FileEntry, KeptNames, MountEntry, UnchangedEntry } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import type { ImageReader } from '../read/image-reader.ts'

/**
 * Completes the export of a runtime with the image that the runtime is made of. The image supplies
 * unchanged entries and the entries that mounts hide. Throws `base_mismatch` for an unchanged entry
 * that the image does not have. Without an image, mount points are empty directories.
 */
export async function* fillFromBase(
  entries: AsyncIterable<ExportEntry>,
  base: ImageReader | null,
): AsyncGenerator<Entry> {
  const firstNames = new Map<number, Buffer>()
  for await (const entry of entries) {
    if (entry.type === 'kept') {
      for (const list of entry.lists) yield* named(list, base, firstNames)
    } else if (entry.type === 'unchanged') yield await fill(entry, base)
    else if (entry.type === 'mount') yield* uncover(entry, base)
    else if (entry.type === 'file' && base !== null) yield await suggest(entry, base)
    else yield entry
  }
}

function named(list: KeptNames, base: ImageReader | null, firstNames: Map<number, Buffer>): AsyncIterable<Entry> {
  if (base === null) throw new ErofsInputError('base_mismatch', list.directory, 'there is no image below')
  return base.named(list, firstNames)
}

async function fill(entry: UnchangedEntry, base: ImageReader | null): Promise<Entry> {
  const found = base === null ? null : await base.find(entry.path)
  if (base === null || found === null || found.inode.type !== 'file' || found.inode.size !== entry.size) {
    throw new ErofsInputError('base_mismatch', entry.path, 'the image below has no file of this name and size')
  }
  return { ...entry, type: 'file', ...base.file(found) }
}

/**
 * Marks a file as perhaps equal to the file below if their sizes are equal. Some runtimes cannot
 * tell.
 */
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
    // The exported time is that of the mount points in the directory.
    const { mtimeSecs, mtimeNanos } = found.inode
    yield { ...attributes, mtimeSecs, mtimeNanos, type: 'directory' }
  }
}
