export type { ByteReader } from './byte-reader.ts'
export { decodeDecimal } from './decode-pax.ts'
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
export { EntryError, TarError, type TarErrorCode } from './errors.ts'
export { MemberBody } from './member-body.ts'
export type { Member } from './overrides.ts'
export { type Opened, readMembers } from './read-members.ts'
export { attributesOf, openEntry, readTar } from './read-tar.ts'
export { writeTar } from './write-tar.ts'
