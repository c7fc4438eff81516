/** More lines in a second are counted and not kept: no command floods the log of a build. */
const maxLinesPerSecond = 2_000

/** Hands on lines, but of a flood of them only so many a second, and how many were left out. */
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

  /** Says how many lines were left out since it was said last. */
  tellLeftOut(): void {
    if (this.#leftOut > 0) this.#write(`(${this.#leftOut} lines were left out: too many in a second)`)
    this.#leftOut = 0
  }
}
