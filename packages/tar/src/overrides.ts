import type { TarHeader } from './decode-header.ts'
import { decodeDecimal, decodeTime, type PaxRecord } from './decode-pax.ts'
import { TarError } from './errors.ts'

/** The values that extended headers give for the next entry. */
export interface Overrides {
  path?: Buffer
  linkPath?: Buffer
  size?: number
  uid?: number
  gid?: number
  mtime?: { readonly mtimeSecs: number; readonly mtimeNanos: number }
  xattrs?: Map<string, Uint8Array>
  /** The `GNU.sparse.*` records, in order and without that prefix. */
  sparse?: PaxRecord[]
  /** The `HOLT.*` records, without that prefix. */
  marks?: Map<string, string>
}

const XATTR_PREFIX = 'SCHILY.xattr.'
const SPARSE_PREFIX = 'GNU.sparse.'
const MARK_PREFIX = 'HOLT.'

/**
 * Adds the records of an extended header for one entry. An empty value removes an earlier record.
 * Each header starts a new list, so that a chain of headers cannot fill the memory.
 */
export function applyPax(overrides: Overrides, records: readonly PaxRecord[]): void {
  delete overrides.xattrs
  delete overrides.sparse
  delete overrides.marks
  for (const record of records) applyRecord(overrides, record)
}

/** Adds the records of a global header that make sense for more than one entry. */
export function applyGlobalPax(overrides: Overrides, records: readonly PaxRecord[]): void {
  for (const record of records) {
    if (record.key === 'uid' || record.key === 'gid' || record.key === 'mtime') applyRecord(overrides, record)
  }
}

function applyRecord(overrides: Overrides, { key, value }: PaxRecord): void {
  if (key.startsWith(XATTR_PREFIX)) {
    overrides.xattrs ??= new Map()
    overrides.xattrs.set(decodeXattrName(key.slice(XATTR_PREFIX.length)), value)
  } else if (key.startsWith(SPARSE_PREFIX)) {
    overrides.sparse ??= []
    overrides.sparse.push({ key: key.slice(SPARSE_PREFIX.length), value })
  } else if (key.startsWith(MARK_PREFIX)) {
    overrides.marks ??= new Map()
    overrides.marks.set(key.slice(MARK_PREFIX.length), value.toString('latin1'))
  } else if (value.length === 0) {
    removeRecord(overrides, key)
  } else if (key === 'path') overrides.path = value
  else if (key === 'linkpath') overrides.linkPath = value
  else if (key === 'size') overrides.size = decodeDecimal(value, key)
  else if (key === 'uid') overrides.uid = decodeDecimal(value, key)
  else if (key === 'gid') overrides.gid = decodeDecimal(value, key)
  else if (key === 'mtime') overrides.mtime = decodeTime(value)
}

function removeRecord(overrides: Overrides, key: string): void {
  if (key === 'linkpath') delete overrides.linkPath
  else if (key === 'path' || key === 'size' || key === 'uid' || key === 'gid' || key === 'mtime') delete overrides[key]
}

/** Returns true for a record of a sparse file. */
export function isSparseRecord({ key }: PaxRecord): boolean {
  return key.startsWith(SPARSE_PREFIX)
}

/** Decodes the name of an attribute. GNU tar writes `=` as `%3D`, and `%` as `%25`. */
function decodeXattrName(name: string): string {
  return name.replace(/%(3D|25)/g, (_, code: string) => (code === '25' ? '%' : '='))
}

/** A header, completed by the extended headers of its entry. */
export interface Member {
  readonly header: TarHeader
  readonly path: Buffer
  readonly linkPath: Buffer
  readonly uid: number
  readonly gid: number
  readonly mtimeSecs: number
  readonly mtimeNanos: number
  readonly xattrs: Map<string, Uint8Array> | undefined
  /** The bytes of the archive that belong to the entry. */
  readonly storedSize: number
  readonly sparse: readonly PaxRecord[]
  readonly marks: ReadonlyMap<string, string> | undefined
}

/**
 * Joins a header with the overrides that preceded it. The entry's own overrides take precedence
 * over the global ones.
 */
export function toMember(header: TarHeader, own: Overrides, global: Overrides): Member {
  const path = own.path ?? header.path
  const storedSize = own.size ?? header.size
  if (storedSize < 0) throw new TarError('tar_malformed', path, 'the size of an entry is negative')
  const mtime = own.mtime ?? global.mtime ?? { mtimeSecs: header.mtimeSecs, mtimeNanos: 0 }
  return {
    header,
    path,
    linkPath: own.linkPath ?? header.linkPath,
    uid: own.uid ?? global.uid ?? header.uid,
    gid: own.gid ?? global.gid ?? header.gid,
    ...mtime,
    xattrs: own.xattrs,
    storedSize,
    sparse: own.sparse ?? [],
    marks: own.marks,
  }
}
