import type { Address } from '../addresses/parse-address.ts'
import type { DnsQuery, MalformedQuery } from './read-query.ts'

/** Response codes (RFC 1035, 4.1.1; RFC 6891, 9). */
export const rcode = { ok: 0, malformed: 1, failed: 2, noSuchName: 3, refused: 5, badVersion: 16 } as const

/** Record types (RFC 1035, 3.2.2). */
export const recordType = { A: 1, PTR: 12 } as const

/**
 * The content of an answer: a code, with EDNS an extended error (RFC 8914), and at most one record.
 */
export interface DnsAnswer {
  readonly code: number
  readonly extendedError?: number
  readonly record?: { readonly type: 'A'; readonly address: Address } | { readonly type: 'PTR'; readonly name: string }
}

/**
 * The seconds for which a program may cache an answer. The address stays longer, but the existence
 * of the name may change.
 */
const ttlSecs = 60

/** The announced size of UDP messages. The guest decides which size fits its programs. */
const udpPayloadSize = 1232

/** Writes the answer to a query. */
export function writeAnswer(query: DnsQuery, answer: DnsAnswer): Buffer {
  const records = answer.record === undefined ? [] : [writeRecord(answer.record)]
  const opt = query.ednsVersion === null ? [] : [writeOpt(answer)]
  const header = writeHeader(query.id, 0x8080 | (query.recursionDesired ? 0x0100 : 0) | (answer.code & 0xf), [
    1,
    records.length,
    0,
    opt.length,
  ])
  return Buffer.concat([header, query.question, ...records, ...opt])
}

/** Writes the answer to a malformed query: a code and nothing else. */
export function writeMalformed({ id }: MalformedQuery): Buffer {
  return writeHeader(id, 0x8080 | rcode.malformed, [0, 0, 0, 0])
}

function writeHeader(id: number, flags: number, counts: readonly number[]): Buffer {
  const header = Buffer.alloc(12)
  for (const [index, value] of [id, flags, ...counts].entries()) header.writeUInt16BE(value, index * 2)
  return header
}

/**
 * Writes a record. Its owner is a pointer to the question's name (RFC 1035, 4.1.4), which begins at
 * byte 12.
 */
function writeRecord(record: NonNullable<DnsAnswer['record']>): Buffer {
  const data = record.type === 'A' ? Buffer.from(record.address.bytes) : writeName(record.name)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(recordType[record.type], 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttlSecs, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`\0${label}`, 'latin1'))
  for (const label of labels) label[0] = label.length - 1
  return Buffer.concat([...labels, Buffer.of(0)])
}

function writeOpt({ code, extendedError }: DnsAnswer): Buffer {
  const option = Buffer.alloc(extendedError === undefined ? 0 : 6)
  if (extendedError !== undefined) {
    option.writeUInt16BE(15, 0)
    option.writeUInt16BE(2, 2)
    option.writeUInt16BE(extendedError, 4)
  }
  const head = Buffer.alloc(11)
  head.writeUInt16BE(41, 1)
  head.writeUInt16BE(udpPayloadSize, 3)
  head[5] = code >> 4
  head.writeUInt16BE(option.length, 9)
  return Buffer.concat([head, option])
}
