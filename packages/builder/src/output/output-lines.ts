import { LineRate } from './line-rate.ts'
import type { Redactor } from './redact.ts'

/** The maximum length of a line in a log. A longer line becomes several. */
const MAX_LINE_LENGTH = 8 * 1024

/** The time after which an incomplete line is shown, in milliseconds. It may be a question. */
const FLUSH_MS = 500

/** The maximum number of lines and characters of a step's output that a failure quotes. */
const TAIL_LINES = 20
const MAX_TAIL_LENGTH = 4 * 1024

/**
 * Colours, titles and cursor movements (ECMA-48 control sequences), and all other control
 * characters but the tab.
 */
const controls =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f]/g

type Stream = 'stdout' | 'stderr'

interface Partial {
  readonly decoder: InstanceType<typeof TextDecoder>
  text: string
}

/**
 * Splits the output of a step into lines, without secrets and of bounded length and number. Keeps
 * the last lines.
 */
export class OutputLines implements Disposable {
  readonly #redactor: Redactor
  readonly #rate: LineRate
  readonly #partials: Readonly<Record<Stream, Partial>>
  readonly #timer: NodeJS.Timeout
  readonly #tail: string[] = []

  constructor(redactor: Redactor, write: (line: string) => void) {
    this.#redactor = redactor
    this.#rate = new LineRate(write)
    this.#partials = { stdout: emptyPartial(), stderr: emptyPartial() }
    this.#timer = setInterval(() => this.#flush({ all: false }), FLUSH_MS)
    this.#timer.unref()
  }

  /** The last lines, for a message. */
  get tail(): string {
    return this.#tail.join('\n').slice(-MAX_TAIL_LENGTH)
  }

  add(stream: Stream, bytes: Uint8Array): void {
    const partial = this.#partials[stream]
    partial.text += partial.decoder.decode(bytes, { stream: true })
    this.#takeLines(partial)
  }

  /** Writes a line about bytes that were lost before they were read. */
  note(line: string): void {
    this.#emit(line)
  }

  /** Writes the incomplete lines and the number of omitted lines. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    for (const partial of Object.values(this.#partials)) partial.text += partial.decoder.decode()
    this.#flush({ all: true })
    this.#rate.tellLeftOut()
  }

  #takeLines(partial: Partial): void {
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(partial.text)
      if (end !== null && end.index <= 2 * MAX_LINE_LENGTH) {
        const line = partial.text.slice(0, end.index)
        partial.text = partial.text.slice(end.index + end[0].length)
        this.#emitLong(line)
      } else if (partial.text.length > 2 * MAX_LINE_LENGTH) {
        const clean = this.#redactor.redact(partial.text)
        const cut = Math.min(MAX_LINE_LENGTH, clean.length - this.#redactor.openEnd(clean))
        if (cut <= 0) return
        this.#emit(clean.slice(0, cut))
        partial.text = clean.slice(cut)
      } else return
    }
  }

  #flush({ all }: { readonly all: boolean }): void {
    for (const partial of Object.values(this.#partials)) {
      if (partial.text === '') continue
      const open = all ? 0 : this.#redactor.openEnd(partial.text)
      const line = partial.text.slice(0, partial.text.length - open).replace(/\r$/, '')
      if (line === '' && !all) continue
      partial.text = partial.text.slice(partial.text.length - open)
      this.#emitLong(line)
    }
  }

  #emitLong(line: string): void {
    const clean = this.#redactor.redact(line)
    for (let from = 0; from === 0 || from < clean.length; from += MAX_LINE_LENGTH)
      this.#emit(clean.slice(from, from + MAX_LINE_LENGTH))
  }

  #emit(line: string): void {
    const clean = line.replace(controls, '')
    this.#tail.push(clean)
    if (this.#tail.length > TAIL_LINES) this.#tail.shift()
    this.#rate.add(clean)
  }
}

function emptyPartial(): Partial {
  return { decoder: new TextDecoder('utf-8', { ignoreBOM: true }), text: '' }
}
