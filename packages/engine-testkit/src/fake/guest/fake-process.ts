import type { GuestItem, GuestProcess, GuestTerminal } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { line, readableOf } from './fake-lines.ts'
import type { Console, ReadStdin } from './fake-programs.ts'

/** The parts of a new fake process. */
interface FakeProcessOptions {
  readonly info: GuestProcess
  readonly transient: boolean
  readonly background: boolean
  /** The end of its time on the monotonic clock; null for none. See `FakeProcess.#deadline`. */
  readonly deadline: number | null
  readonly onExit: (process: FakeProcess) => void
}

/** A process of a fake guest: its state, its output, its time limit. */
export class FakeProcess {
  readonly transient: boolean
  readonly background: boolean
  readonly #onExit: (process: FakeProcess) => void
  readonly #items: GuestItem[] = []
  readonly #waiting = new Set<() => void>()
  #info: GuestProcess
  #stdin: ReadStdin | null = null
  /** The bytes that stdin has taken. */
  #taken = 0
  #timer: NodeJS.Timeout | null = null
  /**
   * The end of `timer` on the monotonic clock. While nothing runs: the time that was left, in
   * milliseconds.
   */
  #deadline: number | null
  #stopped = false

  constructor({ info, transient, background, deadline, onExit }: FakeProcessOptions) {
    this.#info = info
    this.transient = transient
    this.background = background
    this.#deadline = deadline
    this.#onExit = onExit
  }

  get info(): GuestProcess {
    return this.#info
  }

  get isRunning(): boolean {
    return this.#info.state === 'running'
  }

  /** Runs a program in it, with the input of the request if that is already there. */
  run(
    program: (console: Console) => void,
    context: Pick<Console, 'argv' | 'env' | 'session'>,
    input: Buffer | null,
  ): void {
    this.#add({ type: 'start', cursor: 0, pid: this.#info.pid })
    program({
      ...context,
      ...this.#console,
      onStdin: (read) => {
        this.#stdin = read
      },
    })
    if (input !== null) this.#type(input, true)
    this.#startTimer()
  }

  /** Returns a copy with all its output. The copy does not run until `resume`. */
  copy(onExit: (process: FakeProcess) => void): FakeProcess {
    const isTimed = this.#deadline !== null && this.#timer !== null
    const deadline = isTimed ? (this.#deadline ?? 0) - performance.now() : this.#deadline
    const { transient, background } = this
    const copy = new FakeProcess({ info: this.#info, transient, background, deadline, onExit })
    copy.#items.push(...this.#items)
    copy.#stdin = this.#stdin
    copy.#taken = this.#taken
    return copy
  }

  /** Pauses its timer. */
  pause(): void {
    if (this.#timer === null || this.#deadline === null) return
    clearTimeout(this.#timer)
    this.#timer = null
    this.#deadline -= performance.now()
  }

  /** Continues its timer. */
  resume(): void {
    if (this.#timer !== null || this.#deadline === null) return
    this.#deadline += performance.now()
    this.#startTimer()
  }

  /** Ends its streams, as a guest that dies does. */
  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#wake()
  }

  /** Ends it by a signal. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.#exit({ exit_code: signal === 'SIGKILL' ? 137 : 143, signal, timed_out: false })
  }

  resize(pty: GuestTerminal): void {
    this.#info = { ...this.#info, pty }
  }

  /** Returns the items after a cursor as a stream. */
  output(cursor: number, follow: boolean): FakeAnswer {
    return {
      headers: { 'content-type': 'application/x-ndjson' },
      stream: readableOf(this.#lines(cursor, follow)),
    }
  }

  /** Takes input, from `offset` on if that is not null. */
  write(data: Buffer, { eof, offset }: { eof: boolean; offset: number | null }): FakeAnswer {
    const taken = this.#taken
    const start = offset ?? taken
    if (start > taken)
      throw new HoltError('conflict', 'there is a gap', { details: { reason: 'stdin_gap', offset: taken } })
    const fresh = data.subarray(taken - start)
    if (this.#stdin === null || !this.isRunning) {
      if (offset !== null && fresh.length === 0) return { json: { written_bytes: 0, offset: taken } }
      throw new HoltError('conflict', 'stdin is closed', { details: { reason: 'stdin_closed', offset: taken } })
    }
    this.#taken += fresh.length
    this.#type(fresh, eof)
    return { json: { written_bytes: fresh.length, offset: this.#taken } }
  }

  get #console(): Pick<Console, 'write' | 'exit'> {
    return {
      write: (stream, data) => this.#print(stream, Buffer.from(data)),
      exit: (code) => this.#exit({ exit_code: code, signal: null, timed_out: false }),
    }
  }

  #type(data: Buffer, eof: boolean): void {
    this.#stdin?.(data, eof, this.#console)
  }

  #print(type: 'stdout' | 'stderr', data: Buffer): void {
    const bytes = `${type}_bytes` as const
    const cursor = this.#info.cursor + data.length
    this.#info = { ...this.#info, cursor, [bytes]: this.#info[bytes] + data.length }
    this.#add({ type, cursor, data: data.toString('base64'), at_ms: Date.now() })
  }

  #startTimer(): void {
    if (this.#deadline === null || !this.isRunning) return
    const end = () => this.#exit({ exit_code: 137, signal: 'SIGKILL', timed_out: true })
    this.#timer = setTimeout(end, Math.max(0, this.#deadline - performance.now()))
  }

  #exit(how: Pick<GuestProcess, 'exit_code' | 'signal' | 'timed_out'>): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#deadline = null
    const { session, cursor, started_at_ms } = this.#info
    const kept = session === null ? {} : { session_kept: how.signal === null }
    const ended_at_ms = Date.now()
    this.#info = { ...this.#info, ...how, ...kept, state: 'exited', ended_at_ms }
    this.#add({ type: 'exit', cursor, ...how, started_at_ms, ended_at_ms, ...kept })
    this.#onExit(this)
  }

  #add(item: GuestItem): void {
    this.#items.push(item)
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  async *#lines(cursor: number, follow: boolean): AsyncGenerator<Buffer> {
    for (let index = 0; ; index += 1) {
      while (index >= this.#items.length) {
        if (!follow || !this.isRunning) {
          yield line({ type: 'end', cursor: this.#info.cursor })
          return
        }
        await new Promise<void>((resolve) => this.#waiting.add(resolve))
        if (this.#stopped) return
      }
      const item = this.#items[index]
      if (item !== undefined && isAfter(item, cursor)) yield line(after(item, cursor))
    }
  }
}

function isAfter(item: GuestItem, cursor: number): boolean {
  return item.cursor > cursor || item.type === 'exit' || (item.type === 'start' && cursor === 0)
}

/** Returns an item without the bytes before a cursor, which may lie inside it. */
function after(item: GuestItem, cursor: number): GuestItem {
  if (item.type !== 'stdout' && item.type !== 'stderr') return item
  const data = Buffer.from(item.data, 'base64')
  return { ...item, data: data.subarray(Math.max(0, cursor - (item.cursor - data.length))).toString('base64') }
}
