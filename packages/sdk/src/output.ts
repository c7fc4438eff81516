import { type OutputItem, resultOutputBytes } from '@holt/protocol'

/** Hears output as it comes, decoded as UTF-8. */
export interface OutputListener {
  readonly onStdout?: ((text: string) => void) | undefined
  readonly onStderr?: ((text: string) => void) | undefined
}

/** What a command wrote, as far as a result carries it. */
export interface CollectedOutput {
  readonly stdout: string
  readonly stderr: string
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean }
}

/** The bytes of an item of output, exactly as the command wrote them. */
export function outputBytes(item: Extract<OutputItem, { data: string }>): Uint8Array<ArrayBuffer> {
  if (item.encoding === 'utf-8') return new TextEncoder().encode(item.data)
  return Uint8Array.from(atob(item.data), (character) => character.charCodeAt(0))
}

/**
 * Reads a command's items to the end. Keeps the first MiB of each stream and tells listeners everything.
 * A listener that throws ends the reading with what it threw.
 */
export async function collectOutput(
  items: AsyncIterable<OutputItem>,
  listener: OutputListener = {},
): Promise<CollectedOutput> {
  const stdout = new StreamText(listener.onStdout)
  const stderr = new StreamText(listener.onStderr)
  let dropped = false
  for await (const item of items) {
    if (item.type === 'stdout') stdout.add(outputBytes(item))
    else if (item.type === 'stderr') stderr.add(outputBytes(item))
    else if (item.type === 'dropped') dropped = true
  }
  stdout.end()
  stderr.end()
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: { stdout: dropped || stdout.truncated, stderr: dropped || stderr.truncated },
  }
}

/** One stream of a command as text: characters whose bytes come in two items are put together. */
class StreamText {
  truncated = false
  text = ''
  readonly #listener: ((text: string) => void) | undefined
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #keptDecoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #keptBytes = 0

  constructor(listener: ((text: string) => void) | undefined) {
    this.#listener = listener
  }

  add(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, resultOutputBytes - this.#keptBytes)
    this.#keptBytes += kept.length
    this.text += this.#keptDecoder.decode(kept, { stream: true })
    if (kept.length < bytes.length) this.truncated = true
    if (this.#listener !== undefined) this.#tell(this.#decoder.decode(bytes, { stream: true }))
  }

  end(): void {
    this.text += this.#keptDecoder.decode()
    this.#tell(this.#decoder.decode())
  }

  #tell(text: string): void {
    if (text !== '') this.#listener?.(text)
  }
}
