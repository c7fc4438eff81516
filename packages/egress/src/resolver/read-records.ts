import { addressOf } from '../addresses/parse-address.ts'

/** A record of the answer section. Records of other types are left out. */
export interface AnswerRecord {
  /** The owner's name in lower case. */
  readonly owner: string
  readonly type: 'A' | 'AAAA' | 'CNAME'
  readonly ttlSecs: number
  /** An address, or a name in lower case. */
  readonly data: string
}

const types: Readonly<Record<number, AnswerRecord['type']>> = { 1: 'A', 5: 'CNAME', 28: 'AAAA' }
const addressBytes = { A: 4, AAAA: 16 } as const
const classIn = 1

/**
 * The maximum number of records that are read. It is enough for 16 aliases and as many addresses,
 * with a signature each.
 */
const maxRecords = 128
/** The maximum number of bytes of a name (RFC 1035, 2.3.4). */
const maxNameBytes = 255
/**
 * The maximum number of pointers in one name. No name has more labels, and each pointer costs a
 * step for each record that leads to it.
 */
const maxPointers = 127

/**
 * Reads the first `count` records from an offset (RFC 1035, 4.1.3). The work is bounded for any
 * bytes. A general decoder follows thousands of pointers for each of thousands of records, and
 * takes a second for one message. Throws an `Error` if the message is malformed.
 */
export function readRecords(message: Buffer, start: number, count: number): AnswerRecord[] {
  const records: AnswerRecord[] = []
  let offset = start
  for (let read = 0; read < Math.min(count, maxRecords); read++) {
    const owner = readName(message, offset)
    const data = owner.end + 10
    if (data > message.length) throw new Error('a DNS record is cut off')
    const end = data + message.readUInt16BE(owner.end + 8)
    if (end > message.length) throw new Error('a DNS record is cut off')
    const type = types[message.readUInt16BE(owner.end)]
    if (type !== undefined && message.readUInt16BE(owner.end + 2) === classIn) {
      const ttlSecs = message.readUInt32BE(owner.end + 4)
      records.push({ owner: owner.name, type, ttlSecs, data: dataOf(message, type, { start: data, end }) })
    }
    offset = end
  }
  return records
}

function dataOf(message: Buffer, type: AnswerRecord['type'], { start, end }: { start: number; end: number }): string {
  if (type === 'CNAME') {
    const target = readName(message, start)
    if (target.end !== end) throw new Error('a DNS alias has another length than its record')
    return target.name
  }
  if (end - start !== addressBytes[type]) throw new Error('a DNS address has another length than its type')
  return addressOf(Uint8Array.from(message.subarray(start, end))).text
}

/**
 * Reads a name, through pointers (RFC 1035, 4.1.4). Each pointer must lead to a place before its
 * own part, so that they form no loop.
 */
function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = []
  let [offset, part, end, bytes, pointers] = [start, start, -1, 1, 0]
  for (;;) {
    const length = message[offset]
    if (length === undefined) throw new Error('a DNS name is cut off')
    if (length === 0) return { name: labels.join('.').toLowerCase(), end: end < 0 ? offset + 1 : end }
    if (length >= 0xc0) {
      if (offset + 2 > message.length) throw new Error('a DNS name is cut off')
      const target = message.readUInt16BE(offset) & 0x3fff
      pointers += 1
      if (target >= part || pointers > maxPointers) throw new Error('a DNS name has an invalid pointer')
      if (end < 0) end = offset + 2
      part = target
      offset = target
      continue
    }
    bytes += 1 + length
    if (length > 63 || bytes > maxNameBytes || offset + 1 + length > message.length)
      throw new Error('a DNS name is too long or cut off')
    labels.push(labelOf(message.subarray(offset + 1, offset + 1 + length)))
    offset += 1 + length
  }
}

/**
 * Returns a label as text. A label with a dot would become two, so the name then equals no name
 * that a client can ask for.
 */
function labelOf(label: Buffer): string {
  return label.includes(0x2e) ? '\0' : label.toString('latin1')
}
