import { setImmediate } from 'node:timers/promises'
import type { Entry, KeptNames, StoredContent } from '../entry.ts'
import { ErofsInputError } from '../errors.ts'
import { splitPath } from '../tree/split-path.ts'
import { type ImageInode, readInode, readSmallContent } from './decode-inode.ts'
import { ImageFile } from './image-file.ts'
import { malformed } from './malformed.ts'
import { readDirectory } from './read-directory.ts'

/** The maximum number of directories whose names are cached, for lookups in the same directory. */
const MAX_DIRECTORIES = 64
/** `PATH_MAX`. */
const MAX_TARGET_BYTES = 4096
/** The maximum depth of directories: more than a path of `PATH_MAX` has. */
const MAX_DEPTH = 4096
/** The maximum number of names in one image: several times the limit of the writer. */
const MAX_ENTRIES = 10_000_000
const ENTRIES_PER_TURN = 4096
const SLASH = Buffer.from('/')

/** An inode of an image and its path. */
export interface Found {
  readonly path: Buffer
  readonly inode: ImageInode
}

/**
 * Reads an image that `writeImage` has written: single paths, or all of it. No number in it is
 * trusted. A number that points outside the file, or a cycle, throws `image_malformed`. Paths lead
 * through directories only, and no link is followed.
 */
export class ImageReader implements AsyncDisposable {
  readonly #file: ImageFile
  readonly #directories = new Map<number, Promise<Map<string, number>>>()

  private constructor(file: ImageFile) {
    this.#file = file
  }

  /** Opens the image at a path of the host. A delta needs the file of its base. */
  static async open(path: string, basePath: string | null = null): Promise<ImageReader> {
    return new ImageReader(await ImageFile.open(path, basePath))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
  }

  /**
   * The SHA-256 of the base's file, as a delta states it. Null for an image in a single file, which
   * is its own base.
   */
  get baseSha256(): string | null {
    return this.#file.delta?.sha256 ?? null
  }

  /**
   * The size of the base in bytes. Content of the image in its first `baseBytes` is the content of
   * the base there, except for the superblock.
   */
  get baseBytes(): number {
    return this.#file.delta?.layout.baseBytes ?? this.#file.sizeBytes
  }

  /** The size that the image would have as a single file, in bytes. */
  get aloneBytes(): number {
    return this.#file.delta?.aloneBytes ?? this.#file.sizeBytes
  }

  /** Returns bytes of the image. */
  read(offset: number, length: number): Promise<Buffer> {
    return this.#file.read(offset, length)
  }

  /** Returns bytes of the base's file. */
  readBase(offset: number, length: number): Promise<Buffer> {
    return this.#file.readBase(offset, length)
  }

  /** Returns the inode at a path, or null if there is none. */
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

  /** Returns the inode of the root directory. */
  root(): Promise<ImageInode> {
    return readInode(this.#file, this.#file.rootNid)
  }

  /** Returns the names in a directory, one character per byte, with their inodes to be read. */
  async children(directory: ImageInode): Promise<Map<string, () => Promise<ImageInode>>> {
    if (directory.type !== 'directory') throw malformed('the entry to list is not a directory')
    const names = await readDirectory(this.#file, directory)
    return new Map([...names].map(([name, nid]) => [name, () => readInode(this.#file, nid)]))
  }

  /** Returns the target of a symlink. */
  target(symlink: ImageInode): Promise<Buffer> {
    if (symlink.type !== 'symlink') throw malformed('the entry to read is not a symlink')
    return readSmallContent(this.#file, symlink, MAX_TARGET_BYTES)
  }

  /** Returns the content of a file. */
  content({ inode }: Pick<Found, 'inode'>): AsyncIterable<Uint8Array> {
    if (inode.type !== 'file' || inode.inlineOffset !== null) throw malformed('the entry to read is not a file')
    return this.#file.stream(inode.dataOffset, inode.size)
  }

  /** Returns the content of a file for an entry: the bytes, and the place where they are stored. */
  file(found: Found): { readonly body: AsyncIterable<Uint8Array>; readonly stored: StoredContent } {
    return { body: this.content(found), stored: { image: this, offset: found.inode.dataOffset } }
  }

  /**
   * Yields an inode and all inodes below it as entries: a directory before its children, siblings
   * in byte order. A file with an earlier name in this order is a hard link to that name.
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
      if (seen.has(found.inode.nid) || depth > MAX_DEPTH) throw malformed('its directories form a circle')
      seen.add(found.inode.nid)
      const names = [...(await readDirectory(this.#file, found.inode))].sort(([a], [b]) => (a < b ? 1 : -1))
      for (const [name, nid] of names) {
        const path = Buffer.concat([found.path, Buffer.from(found.path.length === 0 ? name : `/${name}`, 'latin1')])
        open.push({ found: { path, inode: await readInode(this.#file, nid) }, depth: depth + 1 })
      }
    }
  }

  /** Returns one entry, with its content to be read. */
  async entry(found: Found): Promise<Entry> {
    return this.#entry(found, new Map())
  }

  /**
   * Yields entries of one directory by their names, in this order. Throws `base_mismatch` for a
   * missing name and for the name of a directory. `firstNames` holds the files with more than one
   * name. Each of these becomes a hard link to its first name.
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
