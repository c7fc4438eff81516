import type { Duplex } from 'node:stream'
import { HoltError } from '@holt/protocol'
import { inTime } from '../../foundation/async/in-time.ts'
import type { Log } from '../../foundation/log.ts'
import { noteVouch } from '../../foundation/request/vouch.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import { isRefusal } from '../../foundation/wire/placed-refusals.ts'
import { PeerConnection } from '../peers/peer-connection.ts'
import type { OwnPeer } from '../peers/peer-directory.ts'
import type { PeerStream } from '../peers/peer-listener.ts'
import { type ProtocolRange, protocolHeader } from '../peers/protocol-range.ts'
import type { OpenPlacement } from '../placement/open-placement.ts'
import type { OwnerRow, OwnerRows } from './owner-cache.ts'
import { readVouch } from './vouch-headers.ts'

/** The protocol of a stream that carries one request in HTTP/1.1 (RFC 8441, 4). */
export const requestProtocol = 'holt-request'

/** The header with the code of the error of a host that has no room for a paused runtime. */
export const refusedHeader = 'holt-refused'

/** The parts of the acceptance of forwarded requests. */
export interface AcceptOptions {
  readonly own: OwnPeer
  readonly rows: OwnerRows
  /** The placement of runtimes. Null: this host takes all that it gets. */
  readonly placement: Pick<OpenPlacement, 'isReady' | 'arrived'> | null
  readonly log: Log
  /** The versions of the protocol that this host speaks. */
  readonly protocol: ProtocolRange
  /**
   * Lets this host take a paused runtime that no host owns. Resolves with false if another host
   * shall take it. Throws if this host has no room.
   */
  readonly take: (owned: Owned) => Promise<boolean>
  /** Notes the host that has sent a request of a project. */
  readonly noteSender: (projectId: string, hostId: string) => void
  /** Serves HTTP/1.1 on a connection. */
  readonly serve: (connection: Duplex) => void
}

/**
 * Answers a stream of another host that carries a forwarded request. Refuses with 403 what a worker
 * sends: it may not vouch for callers. Refuses with 421 and `holt-owner` if a third host owns the
 * thing, and with 503 while this host is fenced. A host that takes no new runtimes refuses placed
 * creates with 503, too, and a host without room does so with `holt-refused`. Takes a paused
 * runtime without an owner that has to run for the request. Any other thing without an owner is
 * accepted: the request's handler answers for it.
 */
export async function acceptForwarded(
  { own, rows, placement, log, protocol, serve, take, noteSender }: AcceptOptions,
  { hostId, trust, stream, headers }: PeerStream,
): Promise<void> {
  if (headers[':method'] !== 'CONNECT' || headers[':protocol'] !== requestProtocol) return refuse(404)
  if (trust !== 'entry') {
    log.warn({ host_id: hostId }, 'a forwarded request was refused: a worker sent it')
    return refuse(403)
  }
  const forwarded = readVouch(headers, hostId, protocol)
  if (forwarded === null) {
    log.warn(
      { host_id: hostId, protocol: headers[protocolHeader] },
      'a forwarded request was refused: its headers have another form',
    )
    return refuse(400)
  }
  if (own.fenced) return refuse(503)
  const { vouch, owned, deadlineMs } = forwarded
  noteSender(owned.projectId, hostId)
  const found = await inTime(findOwner({ rows, take }, owned), deadlineMs)
  if (found instanceof Error) return refuse(503, { [refusedHeader]: found.code })
  // The entry has given up, or its client has.
  if (found === null || stream.destroyed || stream.closed) return refuse(503)
  const owner = found.row?.hostId ?? (found.mayStay ? own.hostId : '')
  if (owner !== own.hostId) {
    const facts = { request_id: vouch.requestId, entry_host_id: hostId, owner_host_id: owner }
    log.debug(facts, 'a forwarded request was refused: another host owns its subject, or shall own it')
    return refuse(421, { 'holt-owner': owner })
  }
  if (owned.type === 'host' && placement !== null) {
    if (!placement.isReady) return refuse(503)
    placement.arrived()
  }
  stream.respond({ ':status': 200 })
  const connection = new PeerConnection(stream, { remoteAddress: vouch.address ?? undefined })
  noteVouch(connection, vouch)
  serve(connection)

  function refuse(status: number, told: Readonly<Record<string, string>> = {}): void {
    if (!stream.destroyed && !stream.closed) stream.respond({ ':status': status, ...told }, { endStream: true })
  }
}

/** The owner of a thing, after this host has perhaps become it. */
interface Found {
  readonly row: OwnerRow | null
  /** False if another host shall take the thing. */
  readonly mayStay: boolean
}

/** Returns the owner of a thing, or the error of this host if it has no room for it. */
async function findOwner(
  { rows, take }: Pick<AcceptOptions, 'rows' | 'take'>,
  owned: Owned,
): Promise<Found | HoltError> {
  const row = await rows.find(owned)
  if (row !== null || owned.wakes === undefined) return { row, mayStay: true }
  try {
    const mayStay = await take(owned)
    return { row: await rows.find(owned), mayStay }
  } catch (error) {
    if (error instanceof HoltError && isRefusal(error)) return error
    throw error
  }
}
