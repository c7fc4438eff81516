import { type Command, type CommandResult, type OutputItem, resultOutputBytes } from '@holt/protocol'

/** The callbacks for output as it arrives, decoded as UTF-8. */
export interface OutputListener {
  readonly onStdout?: ((text: string) => void) | undefined
  readonly onStderr?: ((text: string) => void) | undefined
}

/** The limit on the output in a result. */
export interface OutputLimit {
  /**
   * The maximum number of bytes of each stream that are kept, from its beginning. Default: 1 MiB.
   */
  readonly max_output_bytes?: number | undefined
}

/** The output of a command, up to the limit of the result. */
export interface CollectedOutput {
  readonly stdout: CollectedStream
  readonly stderr: CollectedStream
  /** The final state of the command, if its `exit` has come with it. */
  readonly command: Command | undefined
}

interface CollectedStream {
  readonly text: string
  /** The bytes that arrived. The command wrote more if some were dropped before. */
  readonly bytes: number
  readonly truncated: boolean
}

/** Returns the result of an ended command with its collected output. */
export function resultOf(command: Command, { stdout, stderr }: Omit<CollectedOutput, 'command'>): CommandResult {
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

/** Returns the bytes of an item of output, exactly as the command wrote them. */
export function outputBytes(item: Extract<OutputItem, { data: string }>): Uint8Array<ArrayBuffer> {
  if (item.encoding === 'utf-8') return new TextEncoder().encode(item.data)
  return Uint8Array.from(atob(item.data), (character) => character.charCodeAt(0))
}

/**
 * Reads a command's items to the end. Keeps the first bytes of each stream and passes everything to
 * listeners. If a listener throws, reading ends with its error.
 */
export async function collectOutput(
  items: AsyncIterable<OutputItem>,
  { onStdout, onStderr, max_output_bytes: maxBytes = resultOutputBytes }: OutputListener & OutputLimit = {},
): Promise<CollectedOutput> {
  const stdout = new StreamText(onStdout, maxBytes)
  const stderr = new StreamText(onStderr, maxBytes)
  let command: Command | undefined
  for await (const item of items) {
    if (item.type === 'stdout') stdout.add(outputBytes(item))
    else if (item.type === 'stderr') stderr.add(outputBytes(item))
    else if (item.type === 'exit') command = item.command
  }
  stdout.end()
  stderr.end()
  return { stdout, stderr, command }
}

/** One stream of a command as text. A character whose bytes are in two items is joined. */
export class StreamText {
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
