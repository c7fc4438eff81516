/** The bytes of a command's output that a failure quotes. */
const quotedBytes = 4096

/** The end of a command's output, with stdout and stderr together in the order of arrival. */
export class LastOutput {
  #bytes = Buffer.alloc(0)
  #dropped = false

  add(bytes: Uint8Array): void {
    const joined = Buffer.concat([this.#bytes, bytes])
    if (joined.length > quotedBytes) this.#dropped = true
    // A copy, so that the memory of older output is freed.
    this.#bytes = Buffer.from(joined.subarray(-quotedBytes))
  }

  /** Returns the end of a message: the last output, or that there is none. */
  quote(): string {
    const text = this.#bytes.toString('utf8').trim()
    if (text === '') return 'It wrote nothing.'
    return `It wrote last:\n${this.#dropped ? '... ' : ''}${text}`
  }
}
