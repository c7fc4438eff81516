import { setTimeout as pause } from 'node:timers/promises'
import type { GuestClient, GuestProcess } from '@holt/engine'
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
import { type Caller, requireScope } from '../auth/authenticate.ts'
import { fromEngineError, isEngineError } from '../engine-errors.ts'
import { Comeback } from '../links/come-back.ts'
import type { Gate } from '../links/gate.ts'
import type { RuntimeRef } from '../runtimes/find-runtime.ts'
import type { Service } from '../service.ts'
import { wantsToWrite } from './find-attachable.ts'
import { Lane, sharedFlow } from './lane.ts'
import { limitControlFrames } from './limit-control-frames.ts'
import { OutputPump } from './output-pump.ts'
import type { Member, Room } from './rooms.ts'
import { watchPeer } from './watch-peer.ts'

/**
 * Frames of other attachments' doing, and answers, may wait for a slow reader up to here; then it
 * is cut, and finds out when it comes back.
 */
const maxUnsentBytes = 1024 * 1024
const maxUnsentFrames = 256

/** How long a connection that was told to close has to do so. */
const farewellMs = 1_000

/** The most of a close frame beside its code. */
const maxReasonBytes = 123

/** How long a command that has taken nothing is left alone; the guest itself has waited for it. */
const refusedInputPauseMs = 50

/**
 * Why what a client does or hears ends. One of each serves all: an error costs more than all else
 * that is done for a small frame.
 */
const noLongerWrites = new Error('this attachment no longer writes')
const clientIsGone = new Error('the client is gone')

/** What a writer asks for beside input. */
type Order = Extract<AttachClientFrame, { type: 'resize' | 'signal' }>

/** What an attachment is made of. */
export interface AttachmentParts {
  readonly ws: WebSocket
  readonly service: Service
  readonly ref: RuntimeRef
  readonly guest: GuestClient
  readonly commandId: string
  readonly process: GuestProcess
  readonly room: Room
  readonly query: AttachQuery
  readonly caller: Caller
}

/**
 * One client's WebSocket to a command: output goes out as it comes and as it is taken, input goes
 * in where the client writes.
 */
export class Attachment implements Member {
  readonly client: string | null
  readonly #parts: AttachmentParts
  readonly #gone = new AbortController()
  readonly #pump: OutputPump
  readonly #input: Lane<Buffer | null>
  readonly #orders: Lane<Order>
  /**
   * Ends when this attachment no longer writes: what it has asked for until then and is not done
   * yet, is not done.
   */
  #tenure: AbortController | null = null
  /** The newest size of a window that changed while the runtime was not there. */
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
        // A closed connection stays paused: nothing more of it is read.
        if (!this.#gone.signal.aborted) ws.resume()
      },
      failed: (error) => this.#fail(error),
    })
    this.#input = new Lane((data) => this.#giveInput(data), flow)
    this.#orders = new Lane((order) => this.#obey(order), flow)
    this.#pump = new OutputPump({
      guest,
      commandId,
      cursor: query.cursor,
      windowBytes: query.window ?? null,
      gone: this.#gone.signal,
      comeback: new Comeback(service, { ref, signal: this.#gone.signal }),
      send: (frame) => this.#send(frame),
    })
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary))
    ws.on('error', () => ws.terminate()) // The library has closed it with the right code, or it is gone.
    ws.once('close', () => this.#end())
    watchPeer(ws, () => this.#close('silent', 'no answer to a ping'))
    limitControlFrames(ws, () => {
      this.#close('refused', 'too many pings')
      ws.pause() // What else the client sends is not read.
    })
    const start = { command_id: commandId as Id<'command'>, pid: process.pid, pty: process.pty, cursor: query.cursor }
    this.tell({ type: 'start', ...start, replay_end: process.cursor })
    const wrote = room.join(this)
    if (wantsToWrite(query)) this.#askToWrite(wrote || isSet(query.takeover))
    void this.#play()
  }

  tell(frame: AttachServerFrame): void {
    const { bufferedAmount } = this.#parts.ws
    if (bufferedAmount > maxUnsentBytes || this.#unsentFrames > maxUnsentFrames)
      this.#close('silent', 'too slow a reader')
    else this.#send(frame).catch(() => {}) // The connection is gone, which is noticed where it is closed.
  }

  loseWriting(): void {
    this.#endTenure()
    this.tell({ type: 'writer', writing: false, reason: 'lost' })
  }

  leaveForSuccessor(): void {
    this.#close('replaced', 'attached again')
  }

  /** Cuts it: the service closes, the key is no longer valid, or nobody reads. */
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
      this.#input.add(data as Buffer, (data as Buffer).length)
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
    else if (frame.type === 'eof') this.#input.add(null, 1)
    else this.#orders.add(frame, 1)
  }

  /**
   * What was read before a client went may still wait here: input is given to the command, and
   * nobody loses its place to who is gone.
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

  /** Gives the command bytes, or the end of its stdin for null, and says how much is done with. */
  async #giveInput(data: Buffer | null): Promise<void> {
    const whole = data ?? Buffer.alloc(0)
    await this.#asWriter('input', (signal) => this.#writeAll(whole, { eof: data === null, signal }))
    this.#takenBytes += whole.length
    await this.#send({ type: 'input', taken_bytes: this.#takenBytes })
  }

  /**
   * A command that does not read takes a part, and the rest is sent again, for as long as this is
   * the writer.
   */
  async #writeAll(data: Buffer, { eof, signal }: { eof: boolean; signal: AbortSignal }): Promise<void> {
    const { guest, commandId } = this.#parts
    for (let rest = data; ; ) {
      const { written_bytes } = await guest.writeStdin(commandId, { data: rest, eof, offset: null }, signal)
      if (written_bytes >= rest.length) return
      if (written_bytes === 0) await pause(refusedInputPauseMs, undefined, { signal })
      rest = rest.subarray(written_bytes)
    }
  }

  async #obey(order: Order): Promise<void> {
    const { guest, commandId, room } = this.#parts
    if (order.type === 'signal') {
      await this.#asWriter('signal', (signal) => guest.signalProcess(commandId, order.signal, signal))
      return
    }
    if (this.#tenure !== null && !this.#gate.isOpen) return this.#obeyLater(order, this.#tenure.signal)
    const { cols, rows } = order
    if (await this.#asWriter('resize', (signal) => guest.resizeProcess(commandId, { cols, rows }, signal)))
      room.tell({ type: 'resize', cols, rows })
  }

  /**
   * A window that changes its size is no use of a runtime: one that is paused stays so, and hears
   * of the newest size when it is back.
   */
  #obeyLater(order: Order, tenure: AbortSignal): void {
    const waits = this.#laterSize !== null
    this.#laterSize = order
    if (waits) return
    this.#gate
      .whenOpen(tenure)
      .then(() => {
        if (this.#laterSize !== null) this.#orders.add(this.#laterSize, 1)
      })
      .catch(() => {}) // It no longer writes.
      .finally(() => {
        this.#laterSize = null
      })
  }

  get #gate(): Gate {
    const { service, ref } = this.#parts
    return service.links.gate(ref.runtimeId)
  }

  /**
   * Does something that only the writer may. What the command refuses is told; what the guest fails
   * at ends the attachment.
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
    if (this.#gone.signal.aborted || !this.#isOpen) return // The client leaves, which is no failure.
    if (isEngineError(error)) log.warn({ err: error }, 'the engine failed an attachment')
    else if (!(error instanceof HoltError)) log.error({ err: error }, 'an attachment failed')
    const told = isEngineError(error) ? fromEngineError(error) : error
    this.#close('failed', told instanceof HoltError ? told.message : 'the service failed')
  }

  #close(why: keyof typeof attachCloseCodes, reason: string): void {
    if (this.#gone.signal.aborted) return // It closes already.
    const { ws } = this.#parts
    this.#end()
    ws.resume() // Else the client's own farewell would not be read.
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
 * As much of a reason as a close frame takes (RFC 6455, 5.5): 123 bytes, and no part of a
 * character. A guest's words may be of any length.
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
