import { type Command, type CommandResult, type OutputItem, resultOutputBytes } from '@holt/protocol'

/** Hears output as it comes, decoded as UTF-8. */
export interface OutputListener {
  readonly onStdout?: ((text: string) => void) | undefined
  readonly onStderr?: ((text: string) => void) | undefined
}

/** How much of its output a result carries. */
export interface OutputLimit {
  /** The most bytes of each stream: the first ones. Default: 1 MiB. */
  readonly max_output_bytes?: number | undefined
}

/** What a command wrote, as far as a result carries it. */
export interface CollectedOutput {
  readonly stdout: CollectedStream
  readonly stderr: CollectedStream
}

interface CollectedStream {
  readonly text: string
  /** Bytes that came; more were written where some were dropped before. */
  readonly bytes: number
  readonly truncated: boolean
}

/** The result of a command that has ended, with the output that was collected. */
export function resultOf(command: Command, { stdout, stderr }: CollectedOutput): CommandResult {
  return {
    ...command,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: {
      stdout: stdout.truncated || command.stdout_bytes > stdout.bytes,
      stderr: stderr.truncated || command.stderr_bytes > stderr.bytes,
    },
  }
}

/** The bytes of an item of output, exactly as the command wrote them. */
export function outputBytes(item: Extract<OutputItem, { data: string }>): Uint8Array<ArrayBuffer> {
  if (item.encoding === 'utf-8') return new TextEncoder().encode(item.data)
  return Uint8Array.from(atob(item.data), (character) => character.charCodeAt(0))
}

/**
 * Reads a command's items to the end. Keeps the first bytes of each stream and tells listeners
 * everything. A listener that throws ends the reading with what it threw.
 */
export async function collectOutput(
  items: AsyncIterable<OutputItem>,
  { onStdout, onStderr, max_output_bytes: maxBytes = resultOutputBytes }: OutputListener & OutputLimit = {},
): Promise<CollectedOutput> {
  const stdout = new StreamText(onStdout, maxBytes)
  const stderr = new StreamText(onStderr, maxBytes)
  for await (const item of items) {
    if (item.type === 'stdout') stdout.add(outputBytes(item))
    else if (item.type === 'stderr') stderr.add(outputBytes(item))
  }
  stdout.end()
  stderr.end()
  return { stdout, stderr }
}

/** One stream of a command as text: characters whose bytes come in two items are put together. */
class StreamText {
  truncated = false
  text = ''
  bytes = 0
  readonly #listener: ((text: string) => void) | undefined
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #keptDecoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #maxBytes: number
  #keptBytes = 0

  constructor(listener: ((text: string) => void) | undefined, maxBytes: number) {
    this.#listener = listener
    this.#maxBytes = maxBytes
  }

  add(bytes: Uint8Array): void {
    this.bytes += bytes.length
    const kept = bytes.subarray(0, this.#maxBytes - this.#keptBytes)
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
