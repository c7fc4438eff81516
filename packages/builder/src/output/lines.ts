import { StringDecoder } from 'node:string_decoder'
import { LineRate } from './line-rate.ts'

/** The maximum length of a line in a log. A longer line becomes several. */
const maxLineLength = 8192

/**
 * Splits output into lines and passes on each complete line. `end` passes on an incomplete last
 * line.
 */
export class Lines {
  readonly #decoder = new StringDecoder('utf8')
  readonly #rate: LineRate
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#rate = new LineRate(onLine)
  }

  add(bytes: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(bytes))).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#tell(line)
    while (this.#rest.length > maxLineLength) {
      this.#rate.add(this.#rest.slice(0, maxLineLength))
      this.#rest = this.#rest.slice(maxLineLength)
    }
  }

  end(): void {
    const rest = this.#rest + this.#decoder.end()
    this.#rest = ''
    if (rest !== '') this.#tell(rest)
    this.#rate.tellLeftOut()
  }

  #tell(line: string): void {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    for (let at = 0; at === 0 || at < text.length; at += maxLineLength)
      this.#rate.add(text.slice(at, at + maxLineLength))
  }
}
