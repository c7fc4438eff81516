import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { mergePieces } from '@holt/streams'
import { parseAddress } from '../addresses/parse-address.ts'
import type { DenialReason } from '../contract.ts'
import { canonicalName, splitAuthority } from '../names/canonical-name.ts'
import { type Peeked, peek } from '../session/peek.ts'
import type { RequestVerdict } from '../terminate/terminator.ts'
import { ByteQueue } from './byte-queue.ts'
import { passBody } from './pass-body.ts'
import {
  type BadHead,
  maxHeadBytes,
  type RequestHead,
  readRequestHead,
  withoutUpgrade,
  writeRequestHead,
} from './request-head.ts'
import { readResponseStart } from './response-start.ts'

/** A connection whose requests are read one by one. */
export interface RelayedConnection {
  readonly guest: Duplex
  readonly upstream: Socket
  /** The Host that each request has to have: the canonical name, or the address. */
  readonly host: string
  readonly port: number
  /** Resolves when the next request may be read. */
  pace(): Promise<void>
  /** The verdict on a request whose Host is right; it is logged there. */
  decide(method: string, path: string): RequestVerdict
  /** Logs a request that never got as far as `decide`. */
  onRefused(reason: DenialReason, request: { method?: string; path?: string }): void
  readonly signal: AbortSignal
}

/**
 * How the relay ended: with the requests, with a switch to WebSocket, with a request that was
 * refused, or with a request or an answer that was cut off.
 */
export type RelayEnd = 'ended' | 'switched' | 'refused' | 'cut_off'

/**
 * A head has to be there this long after its first byte. Between requests the connection may be
 * idle.
 */
const headTimeoutMs = 30_000
/** Responses that are under way when a later request is refused may take this long. */
const drainTimeoutMs = 10_000
/** A server may take its time to answer an offer to switch. */
const switchTimeoutMs = 120_000
const maxInterimBytes = 16 * 1024
/**
 * What a refused client still sends is read for so long and so much, so that it gets its answer
 * before the connection is gone.
 */
const lingerMs = 2000
const lingerBytes = 1024 * 1024

/**
 * Carries plain HTTP: each request is read, decided, and written anew from what was understood;
 * responses pass as they are, and the guest's side is ended when the upstream's is. Returns when
 * the guest has ended, when a request was refused (it has its answer then), or when the two
 * switched to WebSocket: then `rest` is what the guest has sent already, and all that follows is
 * for the caller to pass on.
 */
export async function relayRequests(connection: RelayedConnection): Promise<{ end: RelayEnd; rest?: Buffer }> {
  const { guest, upstream } = connection
  const queue = new ByteQueue(guest)
  const write = async (bytes: Buffer) => {
    if (!upstream.write(bytes)) await once(upstream, 'drain', { signal: connection.signal })
  }
  const responses = new Responses(connection)
  for (let isFirst = true; ; isFirst = false) {
    if (!isFirst) await connection.pace()
    const head = await nextHead(queue, guest)
    if (head === null) {
      if (isFirst) responses.begin()
      upstream.end()
      return { end: 'ended' }
    }
    const reason = judge(head, connection)
    if (head.type === 'bad' || reason !== null) {
      if (!isFirst) await responses.finish()
      await refuse(connection, queue, reason ?? 'bad_http')
      return { end: 'refused' }
    }
    const maySwitch = head.wantsWebSocket && isFirst
    await write(
      writeRequestHead(maySwitch ? head : { ...head, headers: withoutUpgrade(head.headers) }, hostField(connection)),
    )
    if (isFirst && !maySwitch) responses.begin()
    if (!(await passBody(queue, head.body, write))) return { end: 'cut_off' }
    if (!maySwitch) continue
    const start = await startOfAnswer(connection)
    if (start.type === 'ended' && !start.whole) {
      // Without the end, by which an answer may say that it is whole.
      guest.write(start.bytes)
      return { end: 'cut_off' }
    }
    responses.begin(start.type === 'ended' ? start.bytes : undefined)
    if (start.type === 'enough' && start.value === 'switched') return { end: 'switched', rest: await queue.release() }
  }
}

/** The way back: bytes as they come, and the end. */
class Responses {
  readonly #connection: RelayedConnection
  #refusing = false

  constructor(connection: RelayedConnection) {
    this.#connection = connection
  }

  /** `all` is what came of an upstream that has ended. */
  begin(all?: Buffer): void {
    const { guest, upstream } = this.#connection
    if (all !== undefined) {
      guest.end(all)
      return
    }
    mergePieces(upstream).pipe(guest, { end: false })
    upstream.once('end', () => {
      if (!this.#refusing) guest.end()
    })
  }

  /**
   * Lets the upstream answer what it was asked, as long as that takes a decent time, and keeps the
   * guest's side open.
   */
  async finish(): Promise<void> {
    const { upstream, guest, signal } = this.#connection
    this.#refusing = true
    upstream.end()
    if (!upstream.readableEnded)
      await Promise.race([once(upstream, 'end', { signal }), delay(drainTimeoutMs, null, { ref: false, signal })])
    upstream.unpipe(guest)
  }
}

/** The next head, after at most two empty lines (RFC 9112, 2.2); null when the guest has ended. */
async function nextHead(queue: ByteQueue, guest: Duplex): Promise<RequestHead | BadHead | null> {
  if (!(await queue.hasMore())) return null
  const timer = setTimeout(() => guest.destroy(new Error('no whole request head in time')), headTimeoutMs)
  try {
    for (let emptyLines = 0; ; emptyLines++) {
      const bytes = await queue.until('\r\n\r\n', maxHeadBytes)
      if (bytes === null) return { type: 'bad', why: 'cut off, or too long' }
      const head = bytes.subarray(bytes.subarray(0, 2).equals(Buffer.from('\r\n')) ? 2 : 0)
      if (head.length > 0 || emptyLines === 1) return readRequestHead(head)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Why a request is refused; null when it is allowed. */
function judge(head: RequestHead | BadHead, connection: RelayedConnection): DenialReason | null {
  if (head.type === 'bad') {
    connection.onRefused('bad_http', {})
    return 'bad_http'
  }
  const { method, path } = head
  const authority = splitAuthority(head.host)
  const host = authority === null ? null : (canonicalName(authority.host) ?? parseAddress(authority.host)?.text)
  if (host !== connection.host || (authority?.port ?? connection.port) !== connection.port) {
    connection.onRefused('host_mismatch', { method, path })
    return 'host_mismatch'
  }
  const verdict = connection.decide(method, path)
  return verdict.allowed ? null : verdict.reason
}

async function refuse({ guest }: RelayedConnection, queue: ByteQueue, reason: DenialReason): Promise<void> {
  const status = reason === 'bad_http' ? '400 Bad Request' : '403 Forbidden'
  const body = `The network policy of this runtime does not allow this request: ${reason}\n`
  const fields = [
    'content-type: text/plain; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-holt-reason: ${reason}`,
    'connection: close',
  ]
  guest.end(`HTTP/1.1 ${status}\r\n${fields.join('\r\n')}\r\n\r\n${body}`)
  const late = delay(lingerMs, null, { ref: false })
  for (let lingered = 0; lingered < lingerBytes; ) {
    const bytes = await Promise.race([queue.some(lingerBytes), late])
    if (bytes === null) return
    lingered += bytes.length
  }
}

/**
 * How the upstream answers the offer to switch. Until it has said so, nothing that the guest sends
 * is passed on.
 */
function startOfAnswer({ upstream, signal }: RelayedConnection): Promise<Peeked<'switched' | 'stayed'>> {
  return peek(upstream, { timeoutMs: switchTimeoutMs, signal }, (bytes) => {
    const read = readResponseStart(bytes)
    if (read.type !== 'incomplete') return { type: 'enough', value: read.type }
    return bytes.length < maxInterimBytes ? { type: 'more', needed: 0 } : { type: 'enough', value: 'stayed' }
  })
}

function hostField({ host, port }: RelayedConnection): string {
  const text = host.includes(':') ? `[${host}]` : host
  return port === 80 ? text : `${text}:${port}`
}
