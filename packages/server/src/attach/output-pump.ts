import { EngineError, type GuestClient, type GuestItem } from '@holt/engine'
import type { AttachServerFrame } from '@holt/protocol'
import type { Comeback } from '../links/come-back.ts'

/**
 * A command is told at once whether to wait for a reader, and once in so long where that changes
 * again and again: each time is a request to its runtime.
 */
const retellMs = 100

/** Ends a way of reading the output for another one. */
const otherWay = new Error('the output is read in another way from here on')

/** The parts that a pump needs. */
export interface PumpParts {
  readonly guest: GuestClient
  readonly commandId: string
  /** The cursor to begin at. */
  readonly cursor: number
  /** The most bytes sent ahead of what the client has taken; null: as much as `send` allows. */
  readonly windowBytes: number | null
  readonly gone: AbortSignal
  readonly comeback: Comeback
  /** Sends a frame, and answers when it is out. */
  readonly send: (frame: AttachServerFrame | Buffer) => Promise<void>
}

/** Sends a command's output from a cursor to its end, no faster than it is taken. */
export class OutputPump {
  readonly #parts: PumpParts
  #cursor: number
  #takenCursor: number
  #stream: 'stdout' | 'stderr' = 'stdout'
  /**
   * True if the command is to wait for this reader; and whether it was told so, null before it was
   * told anything.
   */
  #hold = false
  #told: boolean | null = null
  #retoldAt = Number.NEGATIVE_INFINITY
  #retelling: NodeJS.Timeout | null = null
  #exited = false
  /** Ends when the output is to be read another way. */
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

  /** Notes how far the client has come. */
  noteTaken(cursor: number): void {
    this.#takenCursor = Math.max(this.#takenCursor, Math.min(cursor, this.#cursor))
    this.#wake?.()
  }

  /** Resolves after `end` was sent; rejects when the output cannot be read or sent any more. */
  async run(): Promise<void> {
    const { guest, commandId, gone } = this.#parts
    for (;;) {
      const turn = new AbortController()
      this.#turn = turn
      this.#told = this.#hold
      try {
        const how = { cursor: this.#cursor, follow: true, hold: this.#told }
        const items = await guest.readOutput(commandId, how, AbortSignal.any([gone, turn.signal]))
        for await (const item of items) {
          this.#parts.comeback.progress()
          await this.#pass(item)
          if (item.type === 'end') return
        }
      } catch (error) {
        if (gone.aborted) throw error
        if (!turn.signal.aborted) await this.#parts.comeback.after(error)
      }
    }
  }

  async #pass(item: GuestItem): Promise<void> {
    const { send } = this.#parts
    if (item.type === 'start') return // The attachment has told its own.
    if (item.type === 'exit' && this.#exited) return // It comes again with each answer.
    this.#exited ||= item.type === 'exit'
    if (!('data' in item)) {
      this.#cursor = item.cursor
      await send(item)
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

  /** Waits until so many bytes more are not too far ahead of the client. */
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
