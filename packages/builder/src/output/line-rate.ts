/**
 * The maximum number of lines kept per second, so that no command floods the log of a build.
 * Further lines are only counted.
 */
const maxLinesPerSecond = 2_000

/** Passes on lines up to a maximum per second, and the number of omitted lines. */
export class LineRate {
  readonly #write: (line: string) => void
  #second = 0
  #inSecond = 0
  #leftOut = 0

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  add(line: string): void {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.tellLeftOut()
      this.#second = second
      this.#inSecond = 0
    }
    this.#inSecond += 1
    if (this.#inSecond > maxLinesPerSecond) this.#leftOut += 1
    else this.#write(line)
  }

  /** Writes the number of lines that were omitted since the last call. */
  tellLeftOut(): void {
    if (this.#leftOut > 0) this.#write(`(${this.#leftOut} lines were left out: too many in a second)`)
    this.#leftOut = 0
  }
}
