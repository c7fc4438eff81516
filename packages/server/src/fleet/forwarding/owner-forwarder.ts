import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errorCatalogue, HoltError } from '@holt/protocol'
import { movedHeader } from '../../foundation/errors/moved-header.ts'
import type { Log } from '../../foundation/log.ts'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import {
  type Forwardable,
  type ForwardedRequest,
  type ForwardedUpgrade,
  type Forwarder,
  HostRefused,
  type Owned,
  type PlacedRequest,
} from '../../foundation/wire/forwarder.ts'
import { isRefusal, Refusals } from '../../foundation/wire/placed-refusals.ts'
import { earlyHints } from '../../inside/ports/early-hints.ts'
import { join, switchingHead } from '../../inside/ports/forward-upgrade.ts'
import type { PeerConnection } from '../peers/peer-connection.ts'
import { type PeerLinks, Unreachable } from '../peers/peer-links.ts'
import type { NoteCreate, NoteErrand } from '../trust/worker-errands.ts'
import { refusedHeader, requestProtocol } from './accept-forwarded.ts'
import type { ForwardMetrics, ForwardOutcome } from './forward-metrics.ts'
import type { OwnerCache, OwnerRow } from './owner-cache.ts'
import { BrokenOff, beginRequest, headOfAnswer } from './owner-request.ts'
import { RequestBody } from './request-body.ts'
import { sendOwnerAnswer } from './send-owner-answer.ts'
import { throwRefusal } from './throw-refusal.ts'
import { vouchHeaders } from './vouch-headers.ts'

/** The status of an accepted upgrade. */
const switched = 101

/** The parts of a forwarder. */
export interface ForwarderOptions {
  readonly ownHostId: string
  readonly owners: OwnerCache
  readonly links: PeerLinks
  readonly metrics: ForwardMetrics
  readonly log: Log
  /** The time in which an owner accepts a request, in milliseconds. */
  readonly acceptMs: number
  /** Places creates. Null: this host makes all runtimes. */
  readonly places: Pick<Forwarder, 'place'> | null
  /**
   * Lets this host take a paused runtime that no host owns. Resolves when its row tells its owner.
   * Throws if this host has no room.
   */
  readonly take: (owned: Owned) => Promise<boolean>
  /** Notes the hosts that get requests of a project, before they do. Null: nobody asks. */
  readonly noteErrand: NoteErrand | null
  /** Notes the hosts that get creates, before they do. Null: nobody asks. */
  readonly noteCreate: NoteCreate | null
}

/** Forwards requests to the hosts that own their subjects, over the connections to them. */
export class OwnerForwarder implements Forwarder {
  readonly #options: ForwarderOptions

  constructor(options: ForwarderOptions) {
    this.#options = options
  }

  place<Result>(placed: PlacedRequest<Result>): Promise<Result> {
    const { places } = this.#options
    return places === null ? placed.here() : places.place(this.#noted(placed))
  }

  /** Returns a request that is noted before it is sent. */
  #noted<Result>(placed: PlacedRequest<Result>): PlacedRequest<Result> {
    const { noteCreate } = this.#options
    const { wanted, projectId } = placed
    if (noteCreate === null || wanted.type !== 'runtime') return placed
    return {
      ...placed,
      there: async (owned) => {
        using _noted = await noteCreate(owned.id, projectId, wanted.create)
        return await placed.there(owned)
      },
    }
  }

  async isElsewhere(owned: Owned): Promise<boolean> {
    return (await this.#find(owned)) !== null
  }

  #find(owned: Owned, refusals = new Refusals()): Promise<OwnerRow | null> {
    const take = async () => {
      await this.#options.take(owned)
    }
    return this.#options.owners.find(owned, take, refusals)
  }

  async forward(forwarded: ForwardedRequest): Promise<number | null> {
    const { request, response } = forwarded
    const begunAt = performance.now()
    const body = new RequestBody(request, forwarded.body)
    const left = new AbortController()
    const leave = () => {
      if (!response.writableFinished) left.abort(new ClientGone('the client disconnected'))
    }
    response.once('close', leave)
    if (response.destroyed) leave()
    try {
      return await this.#toOwner(forwarded, left.signal, {
        canRepeat: () => isRepeatable(request) && body.isWhole,
        isUntouched: () => body.isUntouched,
        exchange: async (connection, noteHead) => {
          const answer = await this.#ask(connection, { forwarded, body, signal: left.signal })
          if (hasMoved(answer, forwarded) && isRepeatable(request) && body.isWhole) {
            connection.destroy()
            throw new Moved('the runtime has left the host')
          }
          noteHead()
          this.#options.metrics.noteAnswer((performance.now() - begunAt) / 1000)
          if (forwarded.owned.type === 'host') await throwRefusal(answer)
          const headers = forwarded.answerHeaders(answer)
          await sendOwnerAnswer(answer, { request, response, headers, added: forwarded.beforeAnswer() })
          finish(connection)
          return answer.statusCode ?? 0
        },
      })
    } finally {
      response.off('close', leave)
    }
  }

  async forwardUpgrade(forwarded: ForwardedUpgrade): Promise<number | null> {
    const { socket } = forwarded
    const left = new AbortController()
    const leave = () => left.abort(new ClientGone('the client disconnected'))
    socket.once('close', leave)
    if (socket.destroyed) leave()
    try {
      return await this.#toOwner(forwarded, left.signal, {
        canRepeat: () => false,
        isUntouched: () => true,
        exchange: (connection, noteHead) => this.#switch(connection, { forwarded, signal: left.signal, noteHead }),
      })
    } finally {
      socket.off('close', leave)
    }
  }

  /**
   * Finds the owner and does an exchange with it. Reads the owner's row again and tries once more
   * in three cases: the host was not the owner, it could not be reached, or it broke off a request
   * that may be sent again. If a host has no room for a paused runtime, the next one is tried.
   */
  async #toOwner(
    forwarded: Forwardable,
    signal: AbortSignal,
    { canRepeat, isUntouched, exchange }: Exchange,
  ): Promise<number | null> {
    const { owners, log } = this.#options
    const { owned, vouch } = forwarded
    const refusals = new Refusals()
    for (let attempt = 1; ; ) {
      const found = await this.#find(owned, refusals)
      if (found === null && owned.type === 'host') throw new HostRefused(unavailable())
      if (found === null && isUntouched()) return null
      if (found === null && !canRepeat()) throw unavailable()
      // This host owns the thing by now. It gets the request as any owner does, from what was kept.
      const owner = found ?? { hostId: this.#options.ownHostId, epoch: 0 }
      const facts = { request_id: vouch.requestId, host_id: owner.hostId, attempt }
      try {
        const connection = await this.#open(owner, forwarded, signal)
        const status = await this.#exchange(connection, exchange, signal)
        log.debug({ ...facts, status }, 'a request was forwarded')
        return status
      } catch (err) {
        if (signal.aborted) {
          this.#options.metrics.note('left')
          throw signal.reason
        }
        const outcome = outcomeOf(err, owned)
        if (outcome === null) throw err
        this.#options.metrics.note(outcome)
        log.debug({ ...facts, err, outcome }, 'a request was not forwarded')
        owners.forget(owned)
        if (outcome === 'refused') {
          refusals.note(owner.hostId, err)
          continue
        }
        if (owned.type === 'host' && outcome !== 'broken') throw new HostRefused(unavailable(err), err)
        if (attempt > 1 || (outcome === 'broken' && !canRepeat())) throw unavailable(err)
        attempt += 1
      }
    }
  }

  async #exchange(connection: PeerConnection, exchange: Exchange['exchange'], signal: AbortSignal): Promise<number> {
    const leave = () => connection.destroy()
    signal.addEventListener('abort', leave)
    try {
      return await exchange(connection, () => this.#options.metrics.note('answered'))
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  async #open(owner: OwnerRow, { owned, vouch, isBulk }: Forwardable, signal: AbortSignal): Promise<PeerConnection> {
    const { links, acceptMs, noteErrand } = this.#options
    await noteErrand?.(owner, owned)
    const headers = { ':protocol': requestProtocol, ...vouchHeaders({ vouch, owned, deadlineMs: acceptMs }) }
    const opened = await links.open(owner.hostId, isBulk ? 'bytes' : 'small', { headers, signal })
    if (opened.type === 'open') return opened.connection
    if (opened.status === 421)
      throw new Moved(`the host says that ${String(opened.headers['holt-owner'])} is the owner`)
    const refusal = refusalOf(opened.headers[refusedHeader])
    if (refusal !== null) throw new HostRefused(refusal)
    throw new Unreachable(`the host refused the request with ${opened.status}`)
  }

  async #ask(
    connection: PeerConnection,
    { forwarded, body, signal }: { forwarded: ForwardedRequest; body: RequestBody; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const { request, response } = forwarded
    const outgoing = beginRequest(connection, forwarded, null)
    outgoing.on('information', earlyHints(request, response))
    const answered = headOfAnswer(outgoing)
    if (signal.aborted) connection.destroy()
    body.sendTo(outgoing)
    try {
      return await answered
    } catch (error) {
      body.stop(outgoing)
      outgoing.destroy()
      connection.destroy()
      throw error
    }
  }

  async #switch(
    connection: PeerConnection,
    { forwarded, signal, noteHead }: { forwarded: ForwardedUpgrade; signal: AbortSignal; noteHead: () => void },
  ): Promise<number> {
    const { request, socket, head, upgrade, answerHeaders } = forwarded
    const outgoing = beginRequest(connection, forwarded, upgrade)
    const agreed = new Promise<{ answer: IncomingMessage; first: Buffer }>((resolve) =>
      outgoing.once('upgrade', (answer, _, first) => resolve({ answer, first })),
    )
    if (signal.aborted) connection.destroy()
    outgoing.end()
    const outcome = await Promise.race([agreed, headOfAnswer(outgoing)])
    noteHead()
    if (!('first' in outcome)) {
      const response = new ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket as Socket)
      response.once('finish', () => socket.end())
      await sendOwnerAnswer(outcome, { request, response, headers: answerHeaders(outcome), added: {} })
      finish(connection)
      return outcome.statusCode ?? 0
    }
    socket.write(switchingHead(outcome.answer, answerHeaders(outcome.answer), upgrade), 'latin1')
    if (outcome.first.length > 0) socket.write(outcome.first)
    if (head.length > 0) connection.write(head)
    join(socket, connection)
    return switched
  }
}

/** The steps of one request with an owner. */
interface Exchange {
  /** Returns true if the request may be sent again after a break. */
  readonly canRepeat: () => boolean
  /** Returns true if this host could still answer the request itself. */
  readonly isUntouched: () => boolean
  /** Sends the request, and the answer to the client. Calls `noteHead` when the answer begins. */
  readonly exchange: (connection: PeerConnection, noteHead: () => void) => Promise<number>
}

/** The host is not the owner. */
class Moved extends Error {
  override readonly name = 'Moved'
}

/**
 * Returns true if the owner of a runtime has given it to another host before it answered. A program
 * behind a port could write the same header, so it is not believed there.
 */
function hasMoved(answer: IncomingMessage, { vouch }: Forwardable): boolean {
  return vouch.visit === null && answer.statusCode === 503 && answer.headers[movedHeader] !== undefined
}

/** Returns the error of a host that has no room for a paused runtime. Null: it has said none. */
function refusalOf(code: unknown): HoltError | null {
  const isKnown = typeof code === 'string' && Object.hasOwn(errorCatalogue, code)
  const error = isKnown ? noRoom(code as ErrorCode) : null
  return isRefusal(error) ? error : null
}

function noRoom(code: ErrorCode): HoltError {
  return new HoltError(code, 'No host has room to resume the runtime now.', { details: { retry_after_secs: 5 } })
}

function outcomeOf(error: unknown, { type }: Owned): ForwardOutcome | null {
  if (type === 'runtime' && error instanceof HostRefused) return 'refused'
  if (error instanceof Moved) return 'moved'
  if (error instanceof Unreachable) return 'unreachable'
  return error instanceof BrokenOff ? 'broken' : null
}

/** Returns true if a second copy of a request has no second effect. */
function isRepeatable({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD' || headers['idempotency-key'] !== undefined
}

/** Lets a connection end after an answer. */
function finish(connection: PeerConnection): void {
  if (!connection.destroyed) connection.resume().end()
}

function unavailable(cause?: unknown): HoltError {
  return new HoltError('unavailable', 'The host of the runtime or build cannot be reached.', {
    hint: 'Try again. A request that changes something may have had an effect, unless it has an Idempotency-Key.',
    cause,
  })
}
