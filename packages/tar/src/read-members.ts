import { ByteReader } from './byte-reader.ts'
import { decodeHeader, isZeroBlock, paddingOf, TAR_BLOCK, type TarHeader } from './decode-header.ts'
import { decodePax } from './decode-pax.ts'
import { TarError } from './errors.ts'
import type { MemberBody } from './member-body.ts'
import { applyGlobalPax, applyPax, isSparseRecord, type Member, type Overrides, toMember } from './overrides.ts'

/** The maximum size of one extended header, in bytes. An attribute value has at most 64 KiB. */
const MAX_EXTENDED_HEADER = 1 << 20
/**
 * The maximum number of bytes after the end of a plain archive: the rest of a record of 2,048
 * blocks, the largest possible record.
 */
const MAX_TRAILER = 1 << 20

/** A member as its reader understands it. */
export interface Opened<Item> {
  /** The item, or null for a member that gives none, such as a volume label. */
  readonly item: Item | null
  /** The bytes that belong to the member. */
  readonly body: MemberBody | null
}

/** The options for reading members. */
export interface ReadOptions<Item> {
  readonly open: (member: Member, reader: ByteReader) => Promise<Opened<Item>>
  /**
   * True for the archives of Holt's guest, which are plain ustar and pax. GNU's long names, sparse
   * files and binary numbers are refused, so readers cannot differ in names and sizes. An archive
   * without its end mark is refused, and more than 1 MiB after it. Default: false.
   */
  readonly isPlain?: boolean
  /** Called with each comment on the whole archive. */
  readonly onComment?: (comment: string) => void
}

/**
 * Yields what `open` makes of the members of an uncompressed tar stream (v7, ustar, pax, GNU), in
 * their order. The content of a member must be read before the next one is requested. Unread
 * content is skipped. A damaged archive throws `TarError`.
 */
export async function* readMembers<Item>(
  source: AsyncIterable<Uint8Array>,
  options: ReadOptions<Item>,
): AsyncGenerator<Item, void, undefined> {
  const { open, isPlain = false, onComment } = options
  const reader = new ByteReader(source)
  const extensions = new Extensions(reader, { isPlain, onComment })
  try {
    for (;;) {
      const header = await nextHeader(reader, isPlain)
      if (header === null) break
      if (await extensions.read(header)) continue
      const { item, body } = await open(extensions.complete(header), reader)
      if (item !== null) yield item
      await body?.close()
    }
    if (!(await reader.drain(isPlain ? MAX_TRAILER : undefined)))
      throw new TarError('tar_malformed', '', 'too many bytes follow the end of the archive')
  } finally {
    await reader.close()
  }
}

/**
 * Returns the next header, or null at the end of the archive: two zero blocks, or the end of the
 * stream. A plain archive has at least one zero block.
 */
async function nextHeader(reader: ByteReader, isPlain: boolean): Promise<TarHeader | null> {
  const block = await reader.exactly(TAR_BLOCK)
  if (block === null && isPlain) throw new TarError('tar_truncated', '', 'the archive ends without its end mark')
  if (block === null) return null
  if (!isZeroBlock(block)) return decodeHeader(block, isPlain)
  const second = await reader.exactly(TAR_BLOCK)
  if (second === null || isZeroBlock(second)) return null
  throw new TarError('tar_malformed', '', 'entries follow a zero block')
}

/** Collects the headers that only describe later headers. */
class Extensions {
  readonly #reader: ByteReader
  readonly #isPlain: boolean
  readonly #onComment: ((comment: string) => void) | undefined
  readonly #global: Overrides = {}
  #own: Overrides = {}

  constructor(
    reader: ByteReader,
    { isPlain, onComment }: { isPlain: boolean; onComment: ((comment: string) => void) | undefined },
  ) {
    this.#reader = reader
    this.#isPlain = isPlain
    this.#onComment = onComment
  }

  /** Reads such a header. Returns false if the header is an entry itself. */
  async read(header: TarHeader): Promise<boolean> {
    const { typeflag } = header
    if (typeflag === 'x' || typeflag === 'g') this.#apply(header, await readExtendedHeader(header, this.#reader))
    else if (typeflag === 'L' && !this.#isPlain)
      this.#own.path = untilNul(await readExtendedHeader(header, this.#reader))
    else if (typeflag === 'K' && !this.#isPlain)
      this.#own.linkPath = untilNul(await readExtendedHeader(header, this.#reader))
    else return false
    return true
  }

  /** Returns the member of a header, with the values of the headers before it. */
  complete(header: TarHeader): Member {
    const own = this.#own
    this.#own = {}
    return toMember(header, own, this.#global)
  }

  #apply({ typeflag, path }: TarHeader, bytes: Buffer): void {
    const records = decodePax(bytes)
    if (this.#isPlain && records.some(isSparseRecord))
      throw new TarError('tar_type_unsupported', path, 'it has a sparse file')
    if (typeflag === 'x') {
      applyPax(this.#own, records)
      return
    }
    applyGlobalPax(this.#global, records)
    for (const { key, value } of records) if (key === 'comment') this.#onComment?.(value.toString('utf8'))
  }
}

async function readExtendedHeader(header: TarHeader, reader: ByteReader): Promise<Buffer> {
  if (header.size < 0 || header.size > MAX_EXTENDED_HEADER) {
    const detail = `an extended header has ${header.size} bytes, and at most ${MAX_EXTENDED_HEADER} are allowed`
    throw new TarError('tar_malformed', header.path, detail)
  }
  const bytes = header.size === 0 ? Buffer.alloc(0) : await reader.exactly(header.size)
  if (bytes === null) throw new TarError('tar_truncated', header.path, 'the archive ends within a header')
  await reader.skip(paddingOf(header.size))
  return bytes
}

function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}
