/** Bytes of a command's output, with where they end. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr'
  readonly data: Uint8Array<ArrayBuffer>
  /** Where the output is after these bytes: attach again from here. */
  readonly cursor: number
}

/** Output between the socket, which brings it, and the one reader who takes it. */
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
   * Nothing more comes; with an error, because of that. What is here can still be taken. The first
   * end counts.
   */
  end(end: { readonly error: unknown } | Record<string, never>): void {
    this.#end ??= end
    this.#wake?.()
  }

  /** The next bytes; null at the end. Throws the error that it ended with. */
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
