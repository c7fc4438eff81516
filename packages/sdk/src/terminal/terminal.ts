import {
  type AttachServerFrame,
  attachCloseCodes,
  attachFrameBytes,
  type SendSignalInput,
  type TerminalSize,
} from '@holt/protocol'
import { HoltConnectionError, HoltError } from '../errors/errors.ts'
import { mayResume } from '../transport/item-stream.ts'
import { backoffMs, sleep } from '../transport/retry.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'
import { type AttachSocket, openAttachSocket } from './attach-socket.ts'
import { InputQueue } from './input-queue.ts'
import { type OutputChunk, OutputQueue } from './output-queue.ts'
import { streamsOf, type TerminalStreams } from './web-streams.ts'

/** The options for attaching to a command. */
export interface AttachOptions extends CallOptions {
  /** The cursor after which the output begins. Default: all kept output. */
  readonly cursor?: number
  /** True if this attachment may type, resize and send signals. Default: it watches. */
  readonly write?: boolean
  /** True if it takes over from another writer, who then only watches. */
  readonly takeover?: boolean
  /** Called for events besides output. */
  readonly onEvent?: (event: TerminalEvent) => void
}

/**
 * The events of an attachment besides output: those of the service, and `broken` and `resumed` for
 * the connection.
 */
export type TerminalEvent =
  | Extract<AttachServerFrame, { type: 'dropped' | 'writer' | 'resize' | 'error' }>
  | { readonly type: 'broken' | 'resumed' }

/** The end of a command. */
export type TerminalExit = Omit<Extract<AttachServerFrame, { type: 'exit' }>, 'type' | 'cursor'>

/** The maximum number of bytes of output that the service may send before they are taken. */
const windowBytes = 1024 * 1024

/** The close codes after which the service refuses the same attachment. */
const finalCodes: readonly number[] = [
  attachCloseCodes.refused,
  attachCloseCodes.tooLarge,
  attachCloseCodes.unauthenticated,
  attachCloseCodes.replaced,
]

/**
 * An attachment to a command: its output, as an iterable of bytes or as streams, and, for a writer,
 * its input. After a broken connection it attaches again after the last byte. Closing it, or
 * leaving a loop over it, does not end the command.
 */
export class Terminal implements AsyncDisposable {
  readonly commandId: string
  /**
   * The end of the command. It is known after all output has arrived, so the output must be read.
   */
  readonly exited: Promise<TerminalExit>
  /** The size of the terminal; null if the command has none. */
  size: TerminalSize | null = null
  /** True if this attachment writes. */
  writing = false
  /** The cursor before which the output is older than this attachment, since it last attached. */
  replayEnd = 0
  readonly #transport: Transport
  readonly #runtimeId: string
  readonly #options: AttachOptions
  readonly #client = crypto.randomUUID()
  readonly #ended = new AbortController()
  readonly #output = new OutputQueue()
  readonly #input = new InputQueue({
    type: (typed) => this.#socket?.send(typed === 'eof' ? { type: 'eof' } : typed),
    continueAt: (position) => this.#socket?.send({ type: 'input', position }),
  })
  /** Resolves when the service has described the command. */
  readonly #begun: Promise<void>
  #settleBegin: Settle<void> = { resolve: () => {}, reject: () => {} }
  #settleExit: Settle<TerminalExit> = { resolve: () => {}, reject: () => {} }
  #socket: AttachSocket | null = null
  #stream: 'stdout' | 'stderr' = 'stdout'
  /** The cursors of the received output, and of the output that the reader has taken. */
  #cursor: number
  #takenCursor: number
  #toldCursor: number
  #wantsToWrite: boolean
  #made: TerminalStreams | null = null

  private constructor(transport: Transport, { runtime_id, command_id }: TerminalParams, options: AttachOptions) {
    this.#transport = transport
    this.#runtimeId = runtime_id
    this.commandId = command_id
    this.#options = options
    this.#cursor = this.#takenCursor = this.#toldCursor = options.cursor ?? 0
    this.#wantsToWrite = options.write === true || options.takeover === true
    this.exited = new Promise((resolve, reject) => {
      this.#settleExit = { resolve, reject }
    })
    this.#begun = new Promise((resolve, reject) => {
      this.#settleBegin = { resolve, reject }
    })
    // A caller that waits for these sees the failure. Waiting is optional.
    this.exited.catch(() => {})
    this.#begun.catch(() => {})
  }

  /** Attaches, or rejects with the service's error. */
  static async open(transport: Transport, params: TerminalParams, options: AttachOptions = {}): Promise<Terminal> {
    const terminal = new Terminal(transport, params, options)
    const { signal } = options
    signal?.throwIfAborted()
    signal?.addEventListener('abort', () => terminal.#end({ error: signal.reason }), {
      once: true,
      signal: terminal.#ended.signal,
    })
    await terminal.#connect(options.takeover === true)
    await terminal.#begun
    return terminal
  }

  /** The cursor after the output taken so far, from which to attach again. */
  get cursor(): number {
    return this.#takenCursor
  }

  /** Yields the output as bytes. There is one reader: this, `output` or `readable`. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    for await (const { data } of this.output()) yield data
  }

  /** Yields the output with its stream. In a terminal all of it is `stdout`. */
  async *output(): AsyncGenerator<OutputChunk, void, undefined> {
    for (let chunk = await this.#output.take(); chunk !== null; chunk = await this.#output.take()) {
      this.#takenCursor = chunk.cursor
      this.#tellTaken()
      yield chunk
    }
  }

  /**
   * Types. Resolves when the command has received the data, also after a broken connection. Rejects
   * if another client writes, or if it is unknown whether the data arrived.
   */
  async write(data: string | Uint8Array): Promise<void> {
    if (!this.#wantsToWrite) throw onlyWatches()
    this.#ended.signal.throwIfAborted()
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data)
    if (bytes.length > 0) await this.#input.write(bytes)
  }

  /** Closes stdin after the earlier writes. In a terminal it types the end-of-file character. */
  async eof(): Promise<void> {
    if (!this.#wantsToWrite) throw onlyWatches()
    this.#ended.signal.throwIfAborted()
    await this.#input.write('eof')
  }

  /**
   * Changes the terminal's size. Resolves when the request is sent. A refusal is an `error` event.
   */
  async resize({ cols, rows }: TerminalSize): Promise<void> {
    this.#connected.send({ type: 'resize', cols, rows })
  }

  /**
   * Sends a signal to the command's process group. Resolves when the request is sent. A refusal is
   * an `error` event.
   */
  async sendSignal(signal: SendSignalInput['signal']): Promise<void> {
    this.#connected.send({ type: 'signal', signal })
  }

  /** Requests to write from now on. A `writer` event follows. */
  async takeOver(): Promise<void> {
    this.#wantsToWrite = true
    this.#socket?.send({ type: 'write', takeover: true })
  }

  /**
   * The output as a Web stream. With `writable` it is a pair, so `Duplex.fromWeb(terminal)` makes a
   * Node stream of it.
   */
  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return this.#streams.readable
  }

  /** The input as a Web stream. Closing it is `eof`. */
  get writable(): WritableStream<Uint8Array | string> {
    return this.#streams.writable
  }

  /** Closes the attachment. The command continues. */
  async close(): Promise<void> {
    this.#end({})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #connect(takeover: boolean): Promise<void> {
    const query = {
      cursor: this.#cursor,
      client: this.#client,
      window: Math.max(attachFrameBytes, windowBytes - (this.#cursor - this.#takenCursor)),
      ...(this.#wantsToWrite ? { write: true } : {}),
      ...(takeover ? { takeover: true } : {}),
    }
    const params = { runtime_id: this.#runtimeId, command_id: this.commandId }
    const listener = {
      opened: (socket: AttachSocket) => this.#opened(socket),
      frame: (text: string) => this.#hear(text),
      bytes: (bytes: Uint8Array<ArrayBuffer>) => this.#take(bytes),
      closed: (code: number, reason: string) => this.#closed(code, reason),
    }
    const { signal } = this.#ended
    await openAttachSocket(this.#transport, { target: { params, query }, listener, signal })
  }

  #opened(socket: AttachSocket): void {
    this.#socket = socket
    this.#stream = 'stdout'
    this.#toldCursor = this.#cursor - windowBytes // So that what was taken before is told at once.
    this.#tellTaken()
  }

  #take(data: Uint8Array<ArrayBuffer>): void {
    this.#cursor += data.length
    this.#output.push({ stream: this.#stream, data, cursor: this.#cursor })
  }

  #hear(text: string): void {
    try {
      this.#heed(JSON.parse(text) as AttachServerFrame)
    } catch (error) {
      // An error of a listener, or an invalid frame, ends the attachment. Nobody else could receive
      // it here.
      this.#end({ error })
    }
  }

  #heed(frame: AttachServerFrame): void {
    if (frame.type === 'start') {
      this.size = frame.pty
      this.replayEnd = frame.replay_end
      this.#input.attached(frame.counts_input === true)
      this.#settleBegin.resolve()
      this.#cursor = frame.cursor
    } else if (frame.type === 'stream') this.#stream = frame.stream
    else if (frame.type === 'input') this.#input.noteTaken(frame.taken_bytes)
    else if (frame.type === 'exit') {
      const { exit_code, signal, timed_out } = frame
      this.#settleExit.resolve({ exit_code, signal, timed_out })
    } else if (frame.type === 'end') this.#end({})
    else this.#tell(frame)
  }

  #tell(frame: Extract<AttachServerFrame, { type: 'dropped' | 'writer' | 'resize' | 'error' }>): void {
    if (frame.type === 'dropped') this.#skipTo(frame.cursor)
    if (frame.type === 'resize') this.size = { cols: frame.cols, rows: frame.rows }
    if (frame.type === 'error' && frame.about === 'input')
      this.#input.noteRefused(new HoltError(frame.code, frame.message))
    if (frame.type === 'writer') {
      this.writing = this.#wantsToWrite = frame.writing
      if (!frame.writing) this.#input.fail(onlyWatches())
      else this.#input.start()
    }
    this.#options.onEvent?.(frame)
  }

  /**
   * Counts lost output as taken, with the bytes before it. The service would otherwise wait until
   * the reader takes it.
   */
  #skipTo(cursor: number): void {
    this.#cursor = cursor
    if (this.#output.skipTo(cursor)) return
    this.#takenCursor = cursor
    this.#tellTaken()
  }

  #closed(code: number, reason: string): void {
    this.#socket = null
    this.writing = false
    if (this.#ended.signal.aborted) return
    const lost = new HoltConnectionError('lost', `The attachment was closed: ${reason || code}`)
    if (finalCodes.includes(code)) {
      const revoked = new HoltError('unauthenticated', 'The key is no longer valid.')
      this.#end({ error: code === attachCloseCodes.unauthenticated ? revoked : lost })
      return
    }
    this.#input.break(
      new HoltConnectionError('lost', 'The connection broke. It is unknown whether this input was typed'),
    )
    this.#options.onEvent?.({ type: 'broken' })
    this.#resume(lost).catch((error: unknown) => this.#end({ error }))
  }

  /** Attaches again after the last byte, until that has failed for too long. */
  async #resume(lost: HoltConnectionError): Promise<void> {
    const { signal } = this.#ended
    const since = performance.now()
    for (let tries = 1; !signal.aborted; tries += 1) {
      await sleep(backoffMs(tries), signal)
      try {
        await this.#connect(false)
        this.#options.onEvent?.({ type: 'resumed' })
        return
      } catch (error) {
        signal.throwIfAborted()
        if (!mayResume(error)) throw error
        if (performance.now() - since > this.#transport.options.resumeTimeoutMs) throw lost
      }
    }
  }

  #end(end: { readonly error: unknown } | Record<string, never>): void {
    if (this.#ended.signal.aborted) return
    const error = 'error' in end ? end.error : new HoltError('conflict', 'The attachment is closed.')
    this.#ended.abort(error)
    this.#socket?.close()
    this.#socket = null
    this.writing = false
    this.#input.fail(error)
    this.#settleExit.reject(error)
    this.#settleBegin.reject(error)
    this.#output.end(end)
  }

  /** Acknowledges taken output, a few times for each window. */
  #tellTaken(): void {
    if (this.#takenCursor - this.#toldCursor < windowBytes / 4 || this.#socket === null) return
    this.#toldCursor = this.#takenCursor
    this.#socket.send({ type: 'taken', cursor: this.#takenCursor })
  }

  get #connected(): AttachSocket {
    this.#ended.signal.throwIfAborted()
    if (this.#socket === null) throw new HoltConnectionError('lost', 'The connection is broken, so this was not sent')
    return this.#socket
  }

  get #streams(): TerminalStreams {
    this.#made ??= streamsOf(this)
    return this.#made
  }
}

interface Settle<Value> {
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}

/** The ids of the command and its runtime. */
interface TerminalParams {
  readonly runtime_id: string
  readonly command_id: string
}

function onlyWatches(): HoltError {
  return new HoltError(
    'conflict',
    'This attachment only watches: another one writes, or this one did not request to write.',
    {
      hint: 'Take over: terminal.takeOver(), or attach with takeover.',
    },
  )
}
