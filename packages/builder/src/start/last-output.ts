/** How much of a command's output a failure quotes. */
const quotedBytes = 4096

/** The end of what a command wrote, stdout and stderr together as they came. */
export class LastOutput {
  #bytes = Buffer.alloc(0)
  #dropped = false

  add(bytes: Uint8Array): void {
    const joined = Buffer.concat([this.#bytes, bytes])
    if (joined.length > quotedBytes) this.#dropped = true
    // A copy, so that what is in front is let go.
    this.#bytes = Buffer.from(joined.subarray(-quotedBytes))
  }

  /** As the end of a message: what it wrote last, or that it wrote nothing. */
  quote(): string {
    const text = this.#bytes.toString('utf8').trim()
    if (text === '') return 'It wrote nothing.'
    return `It wrote last:\n${this.#dropped ? '... ' : ''}${text}`
  }
}
