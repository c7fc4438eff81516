import { EngineError } from '@holt/engine'
import type { GuestClient, GuestItem } from '@holt/guest-client'
import type { AttachServerFrame } from '@holt/protocol'
import type { StreamRetry } from '../../runtimes/links/stream-retry.ts'
import { withoutTimes } from '../commands/decode-output.ts'

/**
 * The least interval between two hold settings of a command, in milliseconds. The first is sent at
 * once. Each is a request to the runtime.
 */
const retellMs = 100

/** The abort reason when the hold setting changes and the output is read again. */
const otherWay = new Error('the output is now read in another way')

/** The parts that a pump needs. */
export interface PumpParts {
  readonly guest: GuestClient
  readonly commandId: string
  /** The cursor to begin at. */
  readonly cursor: number
  /**
   * The maximum number of bytes sent ahead of the client's cursor. With null, only `send` limits
   * them.
   */
  readonly windowBytes: number | null
  readonly gone: AbortSignal
  readonly streamRetry: StreamRetry
  /** Sends a frame, and resolves when it is sent. */
  readonly send: (frame: AttachServerFrame | Buffer) => Promise<void>
}

/** Sends a command's output from a cursor to its end, no faster than the client takes it. */
export class OutputPump {
  readonly #parts: PumpParts
  #cursor: number
  #takenCursor: number
  #stream: 'stdout' | 'stderr' = 'stdout'
  /**
   * True if the command has to wait for this reader. `#told` is the last value sent, null before
   * the first.
   */
  #hold = false
  #told: boolean | null = null
  #retoldAt = Number.NEGATIVE_INFINITY
  #retelling: NodeJS.Timeout | null = null
  #exited = false
  /** Aborted when the output has to be read with another setting. */
  #turn = new AbortController()
  #wake: (() => void) | null = null

  constructor(parts: PumpParts) {
    this.#parts = parts
    this.#cursor = parts.cursor
    this.#takenCursor = parts.cursor
    parts.gone.addEventListener('abort', () => this.#wake?.())
  }

  /** Sets whether the command waits for this reader. */
  hold(hold: boolean): void {
    this.#hold = hold
    if (this.#told === null || this.#retelling !== null) return
    const waitMs = this.#retoldAt + retellMs - performance.now()
    if (waitMs <= 0) this.#retell()
    else this.#retelling = setTimeout(() => this.#retell(), waitMs).unref()
  }

  #retell(): void {
    this.#retelling = null
    if (this.#told === this.#hold) return
    this.#retoldAt = performance.now()
    this.#turn.abort(otherWay)
  }

  /** Notes the client's cursor. */
  noteTaken(cursor: number): void {
    this.#takenCursor = Math.max(this.#takenCursor, Math.min(cursor, this.#cursor))
    this.#wake?.()
  }

  /** Resolves after `end` was sent. Rejects if the output can no longer be read or sent. */
  async run(): Promise<void> {
    const { guest, commandId, gone } = this.#parts
    for (;;) {
      const turn = new AbortController()
      this.#turn = turn
      this.#told = this.#hold
      try {
        const how = { cursor: this.#cursor, follow: true, hold: this.#told }
        const items = await guest.processes.readOutput(commandId, how, AbortSignal.any([gone, turn.signal]))
        for await (const item of items) {
          this.#parts.streamRetry.progress()
          await this.#pass(item)
          if (item.type === 'end') return
        }
      } catch (error) {
        if (gone.aborted) throw error
        if (!turn.signal.aborted) await this.#parts.streamRetry.after(error)
      }
    }
  }

  async #pass(item: GuestItem): Promise<void> {
    const { send } = this.#parts
    if (item.type === 'start') return // The attachment has sent its own.
    if (item.type === 'exit' && this.#exited) return // Each answer repeats it.
    this.#exited ||= item.type === 'exit'
    if (!('data' in item)) {
      this.#cursor = item.cursor
      await send(item.type === 'exit' ? withoutTimes(item) : item)
      return
    }
    const bytes = Buffer.from(item.data, 'base64')
    if (item.cursor !== this.#cursor + bytes.length)
      throw new EngineError('wrong_answer', "the guest's output does not follow from the cursor")
    if (item.type !== this.#stream) {
      this.#stream = item.type
      await send({ type: 'stream', stream: item.type, cursor: this.#cursor })
    }
    await this.#window(bytes.length)
    this.#cursor = item.cursor
    await send(bytes)
  }

  /** Waits until `bytes` more fit into the client's window. */
  async #window(bytes: number): Promise<void> {
    const { windowBytes, gone } = this.#parts
    while (windowBytes !== null && this.#cursor + bytes - this.#takenCursor > windowBytes) {
      gone.throwIfAborted()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
