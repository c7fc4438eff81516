/** Bytes of a command's output, with the cursor after them. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr'
  readonly data: Uint8Array<ArrayBuffer>
  /** The cursor after these bytes, from which to attach again. */
  readonly cursor: number
}

/** A queue of output between the socket and its one reader. */
export class OutputQueue {
  readonly #chunks: OutputChunk[] = []
  #end: { readonly error: unknown } | { readonly error?: never } | null = null
  #wake: (() => void) | null = null

  push(chunk: OutputChunk): void {
    if (this.#end !== null) return
    this.#chunks.push(chunk)
    this.#wake?.()
  }

  /**
   * Counts lost output as a part of the last queued bytes. Returns false if nothing is queued.
   */
  skipTo(cursor: number): boolean {
    const last = this.#chunks.pop()
    if (last !== undefined) this.#chunks.push({ ...last, cursor })
    return last !== undefined
  }

  /**
   * Ends the queue, with an error if there is one. Queued output can still be taken. The first end
   * counts.
   */
  end(end: { readonly error: unknown } | Record<string, never>): void {
    this.#end ??= end
    this.#wake?.()
  }

  /** Returns the next bytes; null at the end. Throws the error with which the queue ended. */
  async take(): Promise<OutputChunk | null> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) return chunk
      if (this.#end !== null) {
        if ('error' in this.#end) throw this.#end.error
        return null
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
