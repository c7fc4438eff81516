import { StringDecoder } from 'node:string_decoder'

/** The longest line of a log; what is longer becomes several. */
const maxLineLength = 8192

/** More lines in a second are counted and not kept: no command floods the log of a build. */
const maxLinesPerSecond = 2000

/** Cuts output into lines, which it hands on as they end; `end` hands on what has no end yet. */
export class Lines {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onLine: (line: string) => void
  #rest = ''
  #second = 0
  #inSecond = 0
  #leftOut = 0

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(bytes: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(bytes))).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#tell(line)
    while (this.#rest.length > maxLineLength) {
      this.#emit(this.#rest.slice(0, maxLineLength))
      this.#rest = this.#rest.slice(maxLineLength)
    }
  }

  end(): void {
    const rest = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (rest !== '') this.#tell(rest)
    this.#tellLeftOut()
  }

  #tell(line: string): void {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    for (let at = 0; at === 0 || at < text.length; at += maxLineLength) this.#emit(text.slice(at, at + maxLineLength))
  }

  #emit(line: string): void {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.#tellLeftOut()
      this.#second = second
      this.#inSecond = 0
    }
    this.#inSecond += 1
    if (this.#inSecond > maxLinesPerSecond) this.#leftOut += 1
    else this.#onLine(line)
  }

  #tellLeftOut(): void {
    if (this.#leftOut > 0) this.#onLine(`(${this.#leftOut} lines were left out: too many in a second)`)
    this.#leftOut = 0
  }
}
