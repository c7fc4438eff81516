import type { FileFacts, FileKind } from '../backend/files.ts'
import { baseName } from './base-name.ts'

/** The names of the kinds of files on the wire. Clients leave the unspecified ones out of lists. */
const types: Readonly<Record<FileKind, string>> = {
  file: 'FILE_TYPE_FILE',
  directory: 'FILE_TYPE_DIRECTORY',
  symlink: 'FILE_TYPE_SYMLINK',
  other: 'FILE_TYPE_UNSPECIFIED',
}

/** The characters of ls(1) for the kinds of files. */
const letters: Readonly<Record<FileKind, string>> = { file: '-', directory: 'd', symlink: 'l', other: '?' }

/**
 * Returns a file as the message `EntryInfo`. A symlink has the type of the file to which it leads.
 */
export function entryInfo(file: FileFacts): object {
  const { kind, path, target, metadata } = file
  const shownKind = kind === 'symlink' ? (target?.kind ?? 'other') : kind
  return {
    name: baseName(path),
    type: types[shownKind],
    path,
    size: String(file.sizeBytes),
    mode: file.mode,
    permissions: letters[kind] + file.permissions,
    owner: file.owner,
    group: file.group,
    modifiedTime: file.modifiedAt.toISOString(),
    ...(target === null ? {} : { symlinkTarget: target.path }),
    ...(metadata === null || Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
}
