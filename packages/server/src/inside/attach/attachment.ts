import type { GuestClient, GuestProcess } from '@holt/guest-client'
import {
  AttachClientFrame,
  type AttachQuery,
  type AttachServerFrame,
  attachCloseCodes,
  HoltError,
  type Id,
  isSet,
} from '@holt/protocol'
import type { RawData, WebSocket } from 'ws'
import { fromEngineError, isEngineError } from '../../foundation/errors/engine-errors.ts'
import type { Caller } from '../../foundation/request/caller.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeLink } from '../../runtimes/links/runtime-link.ts'
import { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import { requireScope } from '../../tenancy/auth/authenticate.ts'
import type { Inside } from '../inside.ts'
import { BoundedQueue, sharedFlow } from './bounded-queue.ts'
import { CommandInput, type InputPiece } from './command-input.ts'
import { wantsToWrite } from './find-attachable.ts'
import { limitControlFrames } from './limit-control-frames.ts'
import { OutputPump } from './output-pump.ts'
import type { Member, Room } from './rooms.ts'
import { watchPeer } from './watch-peer.ts'

/**
 * The maximum number of frames and bytes that may wait for a slow reader. Beyond that the
 * attachment is cut, and the client learns the reason when it attaches again.
 */
const maxUnsentBytes = 1024 * 1024
const maxUnsentFrames = 256

/** The time that a closing connection has, in milliseconds. */
const farewellMs = 1_000

/** The maximum number of bytes of a close frame's reason. */
const maxReasonBytes = 123

/**
 * Abort reasons, shared by all attachments: a new error costs more than the rest of a small frame.
 */
const noLongerWrites = new Error('this attachment no longer writes')
const clientIsGone = new Error('the client disconnected')

/** A request of a writer other than input. */
type Order = Extract<AttachClientFrame, { type: 'resize' | 'signal' }>

/** The parts of an attachment. */
export interface AttachmentParts {
  readonly ws: WebSocket
  readonly service: Inside
  readonly ref: RuntimeRef
  readonly guest: GuestClient
  readonly commandId: string
  readonly process: GuestProcess
  readonly room: Room
  readonly query: AttachQuery
  readonly caller: Caller
}

/**
 * A client's WebSocket to a command. Output is sent as it arrives and as the client takes it. Input
 * is accepted if the client is the writer.
 */
export class Attachment implements Member {
  readonly client: string | null
  readonly #parts: AttachmentParts
  readonly #gone = new AbortController()
  readonly #pump: OutputPump
  readonly #commandInput: CommandInput
  readonly #input: BoundedQueue<InputPiece>
  readonly #orders: BoundedQueue<Order>
  /**
   * Aborted when this attachment is no longer the writer. Its unfinished requests are then dropped.
   */
  #tenure: AbortController | null = null
  /** The latest window size that arrived while the runtime was absent. */
  #laterSize: Order | null = null
  #takenBytes = 0
  #unsentFrames = 0

  constructor(parts: AttachmentParts) {
    this.#parts = parts
    const { ws, room, query, caller, guest, commandId, process, service, ref } = parts
    this.client = query.client === undefined ? null : `${caller.keyId}/${query.client}`
    const flow = sharedFlow({
      stop: () => ws.pause(),
      go: () => {
        // A closed connection stays paused, so nothing more is read from it.
        if (!this.#gone.signal.aborted) ws.resume()
      },
      failed: (error) => this.#fail(error),
    })
    this.#commandInput = new CommandInput({ guest, commandId, client: this.client })
    this.#input = new BoundedQueue((piece) => this.#giveInput(piece), flow)
    this.#orders = new BoundedQueue((order) => this.#obey(order), flow)
    this.#pump = new OutputPump({
      guest,
      commandId,
      cursor: query.cursor,
      windowBytes: query.window ?? null,
      gone: this.#gone.signal,
      streamRetry: new StreamRetry(service, { ref, signal: this.#gone.signal }),
      send: (frame) => this.#send(frame),
    })
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary))
    // The library has closed it with the right code, or it has ended.
    ws.on('error', () => ws.terminate())
    ws.once('close', () => this.#end())
    watchPeer(ws, () => this.#close('silent', 'no answer to a ping'))
    limitControlFrames(ws, () => {
      this.#close('refused', 'too many pings')
      ws.pause() // Later frames of the client are not read.
    })
    const start = { command_id: commandId as Id<'command'>, pid: process.pid, pty: process.pty, cursor: query.cursor }
    this.tell({ type: 'start', ...start, replay_end: process.cursor, counts_input: true })
    const wrote = room.join(this)
    if (wantsToWrite(query)) this.#askToWrite(wrote || isSet(query.takeover))
    void this.#play()
  }

  tell(frame: AttachServerFrame): void {
    const { bufferedAmount } = this.#parts.ws
    if (bufferedAmount > maxUnsentBytes || this.#unsentFrames > maxUnsentFrames)
      this.#close('silent', 'too slow a reader')
    else this.#send(frame).catch(() => {}) // Its close event handles that.
  }

  loseWriting(): void {
    this.#endTenure()
    this.tell({ type: 'writer', writing: false, reason: 'lost' })
  }

  leaveForSuccessor(): void {
    this.#close('replaced', 'attached again')
  }

  /** Cuts the attachment: the service closes, the key is no longer valid, or nobody reads. */
  cut(closing: boolean): void {
    if (closing) this.#close('closing', 'the service closes')
    else this.#close('unauthenticated', 'the key is no longer valid, or nobody reads')
  }

  async #play(): Promise<void> {
    try {
      await this.#pump.run()
      this.#close('ended', '')
    } catch (error) {
      this.#fail(error)
    }
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#gone.signal.aborted) return
    if (isBinary) {
      this.#input.add(this.#commandInput.place(data as Buffer), (data as Buffer).length)
      return
    }
    const parsed = AttachClientFrame.safeParse(parseJson(String(data)))
    if (!parsed.success) {
      this.#close('refused', 'not a frame of the protocol')
      return
    }
    const frame = parsed.data
    if (frame.type === 'taken') this.#pump.noteTaken(frame.cursor)
    else if (frame.type === 'write') this.#askToWrite(frame.takeover)
    else if (frame.type === 'watch') this.#stopWriting()
    else if (frame.type === 'eof') this.#input.add(this.#commandInput.place(null), 1)
    else if (frame.type === 'input') this.#countInput(frame.position)
    else this.#orders.add(frame, 1)
  }

  /**
   * Frames of a client that has disconnected may still wait here. Its input still reaches the
   * command, but it cannot become the writer.
   */
  #askToWrite(takeover: boolean): void {
    if (!this.#isOpen) return
    const { caller, room } = this.#parts
    try {
      requireScope(caller, 'runtime:write')
    } catch {
      this.tell({ type: 'writer', writing: false, reason: 'forbidden' })
      return
    }
    const granted = room.claim(this, takeover)
    if (granted && this.#tenure === null) {
      this.#tenure = new AbortController()
      this.#pump.hold(true)
    }
    this.tell({ type: 'writer', writing: granted, reason: granted ? 'granted' : 'taken' })
  }

  #stopWriting(): void {
    this.#parts.room.release(this)
    this.loseWriting()
  }

  #endTenure(): void {
    this.#tenure?.abort(noLongerWrites)
    this.#tenure = null
    this.#pump.hold(false)
  }

  #countInput(position: number): void {
    if (this.client === null) this.#close('refused', 'an input frame needs a client in the query')
    else this.#commandInput.continueAt(position)
  }

  /** Writes a piece of input to the command. Then reports the total of bytes taken. */
  async #giveInput(piece: InputPiece): Promise<void> {
    await this.#asWriter('input', (signal) => this.#commandInput.write(piece, signal))
    this.#takenBytes += piece.data?.length ?? 0
    await this.#send({ type: 'input', taken_bytes: this.#takenBytes })
  }

  async #obey(order: Order): Promise<void> {
    const { guest, commandId, room } = this.#parts
    if (order.type === 'signal') {
      await this.#asWriter('signal', (signal) => guest.processes.signal(commandId, order.signal, signal))
      return
    }
    if (this.#tenure !== null && !this.#link.isOpen) return this.#obeyLater(order, this.#tenure.signal)
    const { cols, rows } = order
    if (await this.#asWriter('resize', (signal) => guest.processes.resize(commandId, { cols, rows }, signal)))
      room.tell({ type: 'resize', cols, rows })
  }

  /**
   * Applies a window size later. A resize does not count as use, so a paused runtime stays paused.
   * It gets the latest size when it is back.
   */
  #obeyLater(order: Order, tenure: AbortSignal): void {
    const waits = this.#laterSize !== null
    this.#laterSize = order
    if (waits) return
    this.#link
      .whenOpen(tenure)
      .then(() => {
        if (this.#laterSize !== null) this.#orders.add(this.#laterSize, 1)
      })
      .catch(() => {}) // The attachment is no longer the writer.
      .finally(() => {
        this.#laterSize = null
      })
  }

  get #link(): RuntimeLink {
    const { service, ref } = this.#parts
    return service.links.link(ref.runtimeId)
  }

  /**
   * Performs an action of the writer. A refusal of the command is reported to the client. A failure
   * of the guest ends the attachment.
   */
  async #asWriter(
    about: 'input' | 'resize' | 'signal',
    act: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<boolean> {
    const tenure = this.#tenure?.signal
    if (tenure === undefined) {
      await this.#send({ type: 'error', about, code: 'conflict', message: 'This attachment only watches.' })
      return false
    }
    try {
      await act(AbortSignal.any([tenure, this.#gone.signal]))
      return true
    } catch (error) {
      if (tenure.aborted || this.#gone.signal.aborted) return false
      if (!(error instanceof HoltError)) throw error
      await this.#send({ type: 'error', about, code: error.code, message: error.message })
      return false
    }
  }

  get #isOpen(): boolean {
    const { ws } = this.#parts
    return ws.readyState === ws.OPEN
  }

  #send(frame: AttachServerFrame | Buffer): Promise<void> {
    if (!this.#isOpen) return Promise.reject(clientIsGone)
    const data = Buffer.isBuffer(frame) ? frame : JSON.stringify(frame)
    this.#unsentFrames++
    return new Promise((resolve, reject) =>
      this.#parts.ws.send(data, (error) => {
        this.#unsentFrames--
        if (error == null) resolve()
        else reject(error)
      }),
    )
  }

  #fail(error: unknown): void {
    const { log } = this.#parts.service
    // The client has disconnected, which is no failure.
    if (this.#gone.signal.aborted || !this.#isOpen) return
    if (isEngineError(error)) log.warn({ err: error }, 'the engine failed an attachment')
    else if (!(error instanceof HoltError)) log.error({ err: error }, 'an attachment failed')
    const told = isEngineError(error) ? fromEngineError(error) : error
    this.#close('failed', told instanceof HoltError ? told.message : 'the service failed')
  }

  #close(why: keyof typeof attachCloseCodes, reason: string): void {
    if (this.#gone.signal.aborted) return // It is already closing.
    const { ws } = this.#parts
    this.#end()
    ws.resume() // Otherwise the client's close frame would not be read.
    ws.close(attachCloseCodes[why], cutReason(reason))
    const timer = setTimeout(() => ws.terminate(), farewellMs)
    ws.once('close', () => clearTimeout(timer))
  }

  #end(): void {
    this.#gone.abort()
    this.#endTenure()
    this.#parts.room.leave(this)
  }
}

/**
 * Returns the part of a reason that fits a close frame (RFC 6455, 5.5): 123 bytes, without a
 * partial character. A guest's message may have any length.
 */
function cutReason(reason: string): string {
  return new TextDecoder().decode(Buffer.from(reason).subarray(0, maxReasonBytes), { stream: true })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The schema refuses it.
  }
}
