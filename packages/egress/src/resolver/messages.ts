import { randomInt } from 'node:crypto'
import packet from 'dns-packet'
import { type AnswerRecord, readRecords } from './read-records.ts'

/** A query as it is sent. An answer has to match it. */
export interface SentQuery {
  readonly id: number
  readonly message: Buffer
  readonly name: string
}

/** An answer that belongs to the query. */
export interface ReceivedAnswer {
  readonly code: number
  /**
   * True if the answer is truncated or repeats the name in other letters. It is asked again over
   * TCP.
   */
  readonly unsure: boolean
  readonly records: readonly AnswerRecord[]
}

/**
 * The announced size of UDP messages (RFC 9715). It fits every path, so that answers are not
 * fragmented.
 */
const udpPayloadSize = 1232
const headerLength = 12

/**
 * Makes a query with an unguessable id and the name in random letter case
 * (draft-vixie-dnsext-dns0x20), which an answer repeats.
 */
export function makeQuery(name: string, type: 'A' | 'AAAA'): SentQuery {
  const id = randomInt(0x1_0000)
  const letters = [...name].map((letter) => (randomInt(2) === 0 ? letter : letter.toUpperCase())).join('')
  const message = packet.encode({
    type: 'query',
    id,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type, class: 'IN', name: letters }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
  return { id, message, name }
}

/**
 * Reads a received message. Returns null if it is not an answer to this query; it is then skipped.
 */
export function readAnswer(query: SentQuery, message: Buffer): ReceivedAnswer | null {
  if (message.length < headerLength || message.readUInt16BE(0) !== query.id) return null
  const flags = message.readUInt16BE(2)
  if ((flags & 0xf800) !== 0x8000) return null
  const code = flags & 0xf
  if (message.readUInt16BE(4) !== 1) {
    // Some servers leave the question out of an error. That only shows that they did not answer.
    return code === 0 ? null : { code: code === 3 ? 2 : code, unsure: false, records: [] }
  }
  const question = query.message.subarray(headerLength, headerLength + query.name.length + 6)
  const repeated = message.subarray(headerLength, headerLength + question.length)
  const exact = repeated.equals(question)
  if (!exact && repeated.toString('latin1').toLowerCase() !== question.toString('latin1').toLowerCase()) return null
  const cut = (flags & 0x0200) !== 0
  return {
    code,
    unsure: cut || !exact,
    records: cut ? [] : readRecords(message, headerLength + question.length, message.readUInt16BE(6)),
  }
}
