import type { DeviceNumber } from '@holt/tar'
import type { Entry } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import { encodeXattrs } from '../layout/encode-xattrs.ts'
import { toBytes } from './split-path.ts'

/** The fields of an inode that come straight from its entry. */
export interface Attributes {
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeSecs: number
  readonly mtimeNanos: number
  readonly xattrs: Buffer | null
}

const MAX_ID = 0xffff_ffff
/** `PATH_MAX` without the final NUL: the longest target that `symlink(2)` accepts. */
const MAX_TARGET_BYTES = 4095
/** The limits of Linux device numbers: 12 bits of major and 20 of minor. */
const MAX_MAJOR = 0xfff
const MAX_MINOR = 0xf_ffff

/** Returns the number, or throws if the inode cannot store it exactly. */
export function checkWhole(entry: Entry, field: string, value: number, max: number, min = 0): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw new ErofsInputError('number_out_of_range', entry.path, `${field} is ${value}, and must be ${min} to ${max}`)
}

/** Checks the attributes of an entry, once. Later code trusts them. */
export function checkAttributes(entry: Entry, keepXattrs: boolean): Attributes {
  return {
    mode: checkWhole(entry, 'mode', entry.mode, MAX_ID) & 0o7777,
    uid: checkWhole(entry, 'uid', entry.uid, MAX_ID),
    gid: checkWhole(entry, 'gid', entry.gid, MAX_ID),
    mtimeSecs: checkWhole(entry, 'mtimeSecs', entry.mtimeSecs, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    mtimeNanos: checkWhole(entry, 'mtimeNanos', entry.mtimeNanos, 999_999_999),
    xattrs: keepXattrs && entry.xattrs !== undefined ? encodeXattrs(entry.xattrs, entry.path) : null,
  }
}

/** Checks the target of a symbolic link, and returns it with one character per byte. */
export function checkSymlinkTarget(entry: Entry, target: Uint8Array | string): string {
  const bytes = toBytes(target)
  if (bytes.length === 0 || bytes.length > MAX_TARGET_BYTES || bytes.includes(0)) {
    const detail = `a target has 1 to ${MAX_TARGET_BYTES} bytes and no NUL; this one has ${bytes.length} bytes`
    throw new ErofsInputError('symlink_target_invalid', entry.path, detail)
  }
  return bytes.toString('latin1')
}

/** Returns a device number in the encoding of the kernel's `new_encode_dev`. */
export function encodeDevice(entry: Entry, rdev: DeviceNumber): number {
  const major = checkWhole(entry, 'rdev.major', rdev.major, MAX_MAJOR)
  const minor = checkWhole(entry, 'rdev.minor', rdev.minor, MAX_MINOR)
  return ((minor & 0xff) | (major << 8) | ((minor & ~0xff) << 12)) >>> 0
}
