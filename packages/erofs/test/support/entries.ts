import type { Entry } from '@holt/erofs'
import type { EntryAttributes } from '@holt/tar'

/** Attributes that a test does not care about. */
const PLAIN = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 1_700_000_000, mtimeNanos: 5 } as const

type Overrides = Partial<Omit<EntryAttributes, 'path'>>
type Path = Uint8Array | string

export function file(path: Path, content: Uint8Array | string = '', overrides: Overrides = {}): Entry {
  const bytes = Buffer.from(content)
  return { ...PLAIN, ...overrides, type: 'file', path, size: bytes.length, body: chunks(bytes) }
}

export function directory(path: Path, overrides: Overrides = {}): Entry {
  return { ...PLAIN, mode: 0o755, ...overrides, type: 'directory', path }
}

export function symlink(path: Path, linkTarget: Path, overrides: Overrides = {}): Entry {
  return { ...PLAIN, mode: 0o777, ...overrides, type: 'symlink', path, linkTarget }
}

export function hardlink(path: Path, linkTarget: Path): Entry {
  return { ...PLAIN, type: 'hardlink', path, linkTarget }
}

export function fifo(path: Path, overrides: Overrides = {}): Entry {
  return { ...PLAIN, ...overrides, type: 'fifo', path }
}

export function device(type: 'char' | 'block', path: Path, major: number, minor: number): Entry {
  return { ...PLAIN, type, path, rdev: { major, minor } }
}

/** Content in pieces of an odd size, so that no piece matches a block. */
async function* chunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 70_001) yield bytes.subarray(at, at + 70_001)
}

/** Items one by one, as a stream gives them. */
export async function* streamOf<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield item
}

/** Bytes that differ from block to block and are never zero. */
export function pattern(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at += 1) bytes[at] = 1 + ((at * 31 + (at >> 12) * 7 + seed) % 255)
  return bytes
}
