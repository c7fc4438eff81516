import { setImmediate } from 'node:timers/promises'
import type { Entry, KeptNames, StoredContent } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import { splitPath } from '../tree/split-path.ts'
import { type ImageInode, readInode, readSmallContent } from './decode-inode.ts'
import { ImageFile } from './image-file.ts'
import { malformed } from './malformed.ts'
import { readDirectory } from './read-directory.ts'

/** Directories whose names are kept, for lookups beside each other. */
const MAX_DIRECTORIES = 64
/** `PATH_MAX`. */
const MAX_TARGET_BYTES = 4096
/** Directories below each other: more than a path of `PATH_MAX` has. */
const MAX_DEPTH = 4096
/** Names of one image; several times what the writer takes. */
const MAX_ENTRIES = 10_000_000
const ENTRIES_PER_TURN = 4096
const SLASH = Buffer.from('/')

/** Something that was found in an image. */
export interface Found {
  readonly path: Buffer
  readonly inode: ImageInode
}

/**
 * Reads an image that `writeImage` has written: single paths, or all of it. No number in it is
 * trusted: what leads out of the file, or round in a circle, is `image_malformed`. Paths lead
 * through directories only; no link is followed.
 */
export class ImageReader implements AsyncDisposable {
  readonly #file: ImageFile
  readonly #directories = new Map<number, Promise<Map<string, number>>>()

  private constructor(file: ImageFile) {
    this.#file = file
  }

  /** Opens the image at a path of the host; a delta needs the file of its base. */
  static async open(path: string, basePath: string | null = null): Promise<ImageReader> {
    return new ImageReader(await ImageFile.open(path, basePath))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
  }

  /**
   * The SHA-256 of the base's file as a delta says it; null for an image in a file alone, which is
   * its own base.
   */
  get baseSha256(): string | null {
    return this.#file.delta?.sha256 ?? null
  }

  /**
   * Bytes of the base. Where the image lies in its first `baseBytes` it has what the base has
   * there, but for the superblock.
   */
  get baseBytes(): number {
    return this.#file.delta?.layout.baseBytes ?? this.#file.sizeBytes
  }

  /** Bytes of the image, were it in one file alone. */
  get aloneBytes(): number {
    return this.#file.delta?.aloneBytes ?? this.#file.sizeBytes
  }

  /** Bytes of the image itself. */
  read(offset: number, length: number): Promise<Buffer> {
    return this.#file.read(offset, length)
  }

  /** Bytes of the base's file. */
  readBase(offset: number, length: number): Promise<Buffer> {
    return this.#file.readBase(offset, length)
  }

  /** What is at a path; null where there is nothing. */
  async find(path: Uint8Array | string): Promise<Found | null> {
    const names = splitPath(path)
    let inode = await readInode(this.#file, this.#file.rootNid)
    for (const name of names) {
      const nid = inode.type === 'directory' ? (await this.#names(inode)).get(name) : undefined
      if (nid === undefined) return null
      inode = await readInode(this.#file, nid)
    }
    return { path: Buffer.from(names.join('/'), 'latin1'), inode }
  }

  /** The content of a file. */
  content({ inode }: Found): AsyncIterable<Uint8Array> {
    if (inode.type !== 'file' || inode.inlineOffset !== null) throw malformed('what is to be read is no file')
    return this.#file.stream(inode.dataOffset, inode.size)
  }

  /** The content of a file for an entry: the bytes, and where they stand. */
  file(found: Found): { readonly body: AsyncIterable<Uint8Array>; readonly stored: StoredContent } {
    return { body: this.content(found), stored: { image: this, offset: found.inode.dataOffset } }
  }

  /**
   * What was found and all that is below it, as entries: a directory before what is in it, siblings
   * in the order of their bytes. A file that has another name earlier in this order is a hard link
   * to that.
   */
  async *entries(from: Found): AsyncGenerator<Entry> {
    const firstNames = new Map<number, Buffer>()
    const open: { found: Found; depth: number }[] = [{ found: from, depth: 0 }]
    const seen = new Set<number>()
    let count = 0
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { found, depth } = next
      count += 1
      if (count > MAX_ENTRIES) throw malformed('it has too many names')
      if (count % ENTRIES_PER_TURN === 0) await setImmediate()
      yield await this.#entry(found, firstNames)
      if (found.inode.type !== 'directory') continue
      if (seen.has(found.inode.nid) || depth > MAX_DEPTH) throw malformed('its directories go round in a circle')
      seen.add(found.inode.nid)
      const names = [...(await readDirectory(this.#file, found.inode))].sort(([a], [b]) => (a < b ? 1 : -1))
      for (const [name, nid] of names) {
        const path = Buffer.concat([found.path, Buffer.from(found.path.length === 0 ? name : `/${name}`, 'latin1')])
        open.push({ found: { path, inode: await readInode(this.#file, nid) }, depth: depth + 1 })
      }
    }
  }

  /** One entry, with its content to be read. */
  async entry(found: Found): Promise<Entry> {
    return this.#entry(found, new Map())
  }

  /**
   * Returns entries of one directory by their names, in this order. A missing name, and the name of
   * a directory, is `base_mismatch`. `firstNames` holds the files that have more names: each of
   * these becomes a hard link to its first name.
   */
  async *named({ directory, names }: KeptNames, firstNames: Map<number, Buffer>): AsyncGenerator<Entry> {
    const found = await this.find(directory)
    const children = found?.inode.type === 'directory' ? await this.#names(found.inode) : new Map<string, number>()
    for (const bytes of names) {
      const name = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      const path = found === null || found.path.length === 0 ? name : Buffer.concat([found.path, SLASH, name])
      const nid = children.get(name.toString('latin1'))
      const inode = nid === undefined ? null : await readInode(this.#file, nid)
      if (inode === null || inode.type === 'directory')
        throw new ErofsInputError('base_mismatch', path, 'the image below has no such file')
      yield await this.#entry({ path, inode }, firstNames)
    }
  }

  async #entry(found: Found, firstNames: Map<number, Buffer>): Promise<Entry> {
    const { inode } = found
    const { mode, uid, gid, mtimeSecs, mtimeNanos, type } = inode
    const path = found.path.length === 0 ? Buffer.from('.') : found.path
    const common = {
      path,
      mode,
      uid,
      gid,
      mtimeSecs,
      mtimeNanos,
      ...(inode.xattrs === null ? {} : { xattrs: inode.xattrs }),
    }
    if (type === 'directory') return { ...common, type }
    const first = firstNames.get(inode.nid)
    if (first !== undefined) return { ...common, type: 'hardlink', linkTarget: first }
    if (inode.nlink > 1) firstNames.set(inode.nid, path)
    switch (type) {
      case 'file':
        return { ...common, type, size: inode.size, ...this.file(found) }
      case 'symlink':
        return { ...common, type, linkTarget: await readSmallContent(this.#file, inode, MAX_TARGET_BYTES) }
      case 'fifo':
        return { ...common, type }
      case 'char':
      case 'block':
        return { ...common, type, rdev: inode.rdev }
    }
  }

  #names(inode: ImageInode): Promise<Map<string, number>> {
    const known = this.#directories.get(inode.nid)
    if (known !== undefined) return known
    const reading = readDirectory(this.#file, inode)
    reading.catch(() => this.#directories.delete(inode.nid))
    this.#directories.set(inode.nid, reading)
    for (const oldest of this.#directories.keys()) {
      if (this.#directories.size <= MAX_DIRECTORIES) break
      this.#directories.delete(oldest)
    }
    return reading
  }
}
