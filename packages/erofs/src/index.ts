export type {
  DeviceEntry,
  DeviceNumber,
  DirectoryEntry,
  Entry,
  EntryAttributes,
  FifoEntry,
  FileEntry,
  HardlinkEntry,
  SymlinkEntry,
} from './entry.ts'
export { ErofsInputError, type ErofsInputErrorCode } from './errors.ts'
export { WRITER_VERSION } from './layout/format.ts'
export { readTar } from './tar/read-tar.ts'
export { type ImageSummary, type WriteImageOptions, writeImage } from './write-image.ts'
