import { type OutputItem, outputBytes } from '@holt/sdk'
import { PlainOutput } from './plain-output.ts'

/** The maximum number of characters and pieces of output that the page keeps: the last ones. */
const maxChars = 256 * 1024
const maxPieces = 2_000

/** The characters of a piece to which later text of its stream is added. */
const joinedChars = 4096

/** Text of one stream. */
export interface OutputPiece {
  /** A number that no other piece of this output has. */
  readonly id: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

/** The last output of a command as plain text. */
export class OutputLog {
  readonly #streams = { stdout: newStream(), stderr: newStream() }
  #pieces: OutputPiece[] = []
  #chars = 0
  #nextId = 0
  /** True if the log lacks earlier output. */
  isCut: boolean

  constructor(isCut: boolean) {
    this.isCut = isCut
  }

  /** Returns the pieces in their order. */
  get pieces(): readonly OutputPiece[] {
    return this.#pieces
  }

  /** Adds an item of output. Items of other types are ignored, except that lost output is noted. */
  add(item: OutputItem): void {
    if (item.type === 'dropped') this.isCut = true
    if (item.type !== 'stdout' && item.type !== 'stderr') return
    const { decoder, plain } = this.#streams[item.type]
    const text = plain.add(decoder.decode(outputBytes(item), { stream: true }))
    if (text === '') return
    this.#push(item.type, text)
    this.#trim()
  }

  #push(stream: OutputPiece['stream'], text: string): void {
    this.#chars += text.length
    const last = this.#pieces.at(-1)
    // Single lines are joined, so that the page has few elements.
    if (last?.stream === stream && last.text.length < joinedChars)
      this.#pieces = [...this.#pieces.slice(0, -1), { ...last, text: last.text + text }]
    else this.#pieces = [...this.#pieces, { id: this.#nextId++, stream, text }]
  }

  #trim(): void {
    while (this.#chars > maxChars || this.#pieces.length > maxPieces) {
      const [first, ...rest] = this.#pieces
      if (first === undefined) return
      this.isCut = true
      const over = this.#pieces.length > maxPieces ? first.text.length : this.#chars - maxChars
      const text = first.text.slice(over)
      this.#chars -= first.text.length - text.length
      this.#pieces = text === '' ? rest : [{ ...first, text }, ...rest]
    }
  }
}

function newStream() {
  return { decoder: new TextDecoder(), plain: new PlainOutput() }
}
