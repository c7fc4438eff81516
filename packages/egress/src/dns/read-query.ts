import { canonicalName } from '../names/canonical-name.ts'

/** One well-formed query. */
export interface DnsQuery {
  readonly id: number
  readonly recursionDesired: boolean
  /** The question section as received. The answer repeats it unchanged. */
  readonly question: Buffer
  /** The name in its canonical form. Null if it is not a host name. */
  readonly name: string | null
  /** The name for people. Odd bytes and dots inside labels are escaped as `\DDD`. */
  readonly shownName: string
  readonly type: number
  readonly class: number
  /** The EDNS version. Null without EDNS (RFC 6891). */
  readonly ednsVersion: number | null
}

/** A query that is not well formed. Only its `id` is known. */
export interface MalformedQuery {
  readonly id: number
  readonly malformed: string
}

const headerLength = 12
/** The maximum number of bytes of a name with the length bytes and the root (RFC 1035, 2.3.4). */
const maxNameLength = 255
const optType = 41

/**
 * Reads a DNS message as one query (RFC 1035, 4.1), strictly: one question, no records besides
 * EDNS, no compression, no bytes after the end. Returns null if there is no complete header.
 */
export function readQuery(message: Buffer): DnsQuery | MalformedQuery | null {
  if (message.length < headerLength) return null
  const id = message.readUInt16BE(0)
  const flags = message.readUInt16BE(2)
  const malformed = (why: string): MalformedQuery => ({ id, malformed: why })
  if ((flags & 0x8000) !== 0) return malformed('not a query')
  if ((flags & 0x7800) !== 0) return malformed('not a standard query')
  if ((flags & 0x0200) !== 0) return malformed('truncated')
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((offset) => message.readUInt16BE(offset))
  if (questions !== 1) return malformed('not one question')
  if (answers !== 0 || authorities !== 0 || (additionals ?? 0) > 1) return malformed('records in a query')
  const labels = readLabels(message, headerLength)
  if (labels === null) return malformed('name')
  const end = labels.end + 4
  if (message.length < end) return malformed('question is cut off')
  const edns = additionals === 1 ? readOpt(message, end) : { version: null, end }
  if (edns === null || edns.end !== message.length) return malformed('bytes after the question')
  return {
    id,
    recursionDesired: (flags & 0x0100) !== 0,
    question: message.subarray(headerLength, end),
    name: nameOf(labels.labels),
    shownName: labels.labels.map(showLabel).join('.') || '.',
    type: message.readUInt16BE(labels.end),
    class: message.readUInt16BE(labels.end + 2),
    ednsVersion: edns.version,
  }
}

/**
 * Returns the labels from an offset up to the root, or null. A pointer is not well formed here,
 * because there is no earlier name to point to.
 */
function readLabels(message: Buffer, start: number): { labels: Buffer[]; end: number } | null {
  const labels: Buffer[] = []
  for (let offset = start; offset < message.length && offset - start < maxNameLength; ) {
    const length = message[offset] ?? 0
    if (length === 0) return { labels, end: offset + 1 }
    if (length > 63 || offset + 1 + length > message.length) return null
    labels.push(message.subarray(offset + 1, offset + 1 + length))
    offset += 1 + length
  }
  return null
}

/**
 * Returns the canonical name of labels, or null. A label with a dot in it would become two in a
 * string, so the bytes are checked first.
 */
function nameOf(labels: readonly Buffer[]): string | null {
  const odd = labels.some((label) => label.some((byte) => !isNameByte(byte)))
  return odd ? null : canonicalName(labels.map((label) => label.toString('latin1')).join('.'))
}

function isNameByte(byte: number): boolean {
  const isLetter = (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)
  return isLetter || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x5f
}

function showLabel(label: Buffer): string {
  return Array.from(label, (byte) =>
    isNameByte(byte) ? String.fromCharCode(byte).toLowerCase() : `\\${String(byte).padStart(3, '0')}`,
  ).join('')
}

/**
 * Reads the OPT record (RFC 6891, 6.1.2): the root's name, a type, and options, which are skipped.
 */
function readOpt(message: Buffer, start: number): { version: number; end: number } | null {
  if (start + 11 > message.length || message[start] !== 0) return null
  if (message.readUInt16BE(start + 1) !== optType) return null
  const end = start + 11 + message.readUInt16BE(start + 9)
  return end > message.length ? null : { version: message[start + 6] ?? 0, end }
}
