export type {
  Entry,
  ExportEntry,
  FileEntry,
  KeptEntry,
  KeptNames,
  MountEntry,
  StoredContent,
  UnchangedEntry,
} from './entry.ts'
export { ErofsInputError, type ErofsInputErrorCode } from './errors.ts'
export { fillFromBase } from './export/fill-from-base.ts'
export { readExport } from './export/read-export.ts'
export { WHOLE_NAME } from './layout/delta-layout.ts'
export { WRITER_VERSION } from './layout/format.ts'
export type { ImageInode } from './read/decode-inode.ts'
export { type Found, ImageReader } from './read/image-reader.ts'
export { isDelta } from './read/is-delta.ts'
export type { ImageBase } from './write/image-output.ts'
export { type ImageSummary, type WriteImageOptions, writeImage } from './write/write-image.ts'
