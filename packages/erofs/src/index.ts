export type {
  DeviceEntry,
  DeviceNumber,
  DirectoryEntry,
  Entry,
  EntryAttributes,
  ExportEntry,
  FifoEntry,
  FileEntry,
  HardlinkEntry,
  KeptEntry,
  KeptNames,
  MountEntry,
  StoredContent,
  SymlinkEntry,
  UnchangedEntry,
} from './entry.ts'
export { ErofsInputError, type ErofsInputErrorCode } from './errors.ts'
export { fillFromBase } from './fill-from-base.ts'
export { WHOLE_NAME } from './layout/delta-layout.ts'
export { WRITER_VERSION } from './layout/format.ts'
export type { ImageBase } from './output/image-output.ts'
export type { ImageInode } from './read/decode-inode.ts'
export { type Found, ImageReader } from './read/image-reader.ts'
export { isDelta } from './read/is-delta.ts'
export { readExport, readTar } from './tar/read-tar.ts'
export { writeTar } from './tar/write-tar.ts'
export { type ImageSummary, type WriteImageOptions, writeImage } from './write-image.ts'
