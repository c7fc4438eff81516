import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { mergePieces } from '@holt/async'
import { parseAddress } from '../addresses/parse-address.ts'
import type { DenialReason } from '../contract/gateway-contract.ts'
import type { RequestVerdict } from '../contract/terminator.ts'
import { canonicalName, splitAuthority } from '../names/canonical-name.ts'
import { ByteQueue } from '../streams/byte-queue.ts'
import { type Peeked, peek } from '../streams/peek.ts'
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
  /** The required Host of each request: the canonical name, or the address. */
  readonly host: string
  readonly port: number
  /** Resolves when the next request may be read. */
  pace(): Promise<void>
  /** Returns the verdict on a request whose Host is right, and logs it. */
  decide(method: string, path: string): RequestVerdict
  /** Logs a request that is refused before `decide`. */
  onRefused(reason: DenialReason, request: { method?: string; path?: string }): void
  readonly signal: AbortSignal
}

/**
 * The end of the relay: all requests are done, a switch to WebSocket, a refused request, or a
 * request or response that was cut off.
 */
export type RelayEnd = 'ended' | 'switched' | 'refused' | 'cut_off'

/**
 * The time for a head after its first byte, in milliseconds. Between requests the connection may be
 * idle.
 */
const headTimeoutMs = 30_000
/** The time for pending responses when a later request is refused, in milliseconds. */
const drainTimeoutMs = 10_000
/** The time for a server to answer an offer to switch, in milliseconds. */
const switchTimeoutMs = 120_000
const maxInterimBytes = 16 * 1024
/**
 * The time and bytes for which a refused client's further data is read. It then gets its response
 * before the connection is closed.
 */
const lingerMs = 2000
const lingerBytes = 1024 * 1024

/**
 * Relays plain HTTP. Each request is read, decided, and rewritten from its parsed form. Responses
 * pass unchanged, and the guest's side ends when the upstream's does.
 *
 * Returns when the guest has ended, when a request was refused (it already has its response), or
 * when both sides switched to WebSocket. In that case `rest` holds the bytes that the guest has
 * already sent, and the caller forwards all that follows.
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
      // Without the end, because it may mark a response as complete.
      guest.write(start.bytes)
      return { end: 'cut_off' }
    }
    responses.begin(start.type === 'ended' ? start.bytes : undefined)
    if (start.type === 'enough' && start.value === 'switched') return { end: 'switched', rest: await queue.release() }
  }
}

/** The responses: bytes as they arrive, and the end. */
class Responses {
  readonly #connection: RelayedConnection
  #refusing = false

  constructor(connection: RelayedConnection) {
    this.#connection = connection
  }

  /** Begins to forward responses. `all` is the complete output of an upstream that has ended. */
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
   * Lets the upstream answer the pending requests within a time limit, and keeps the guest's side
   * open.
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

/**
 * Returns the next head, after at most two empty lines (RFC 9112, 2.2), or null if the guest has
 * ended.
 */
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

/** Returns the reason why a request is refused, or null if it is allowed. */
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
 * Returns the upstream's answer to the offer to switch. Before that answer, no further bytes of the
 * guest are forwarded.
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
