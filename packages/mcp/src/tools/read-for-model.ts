import type { Files } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { imageType, isBinary, typeBytes } from '../results/image-type.ts'
import { grouped, shownText, textResult } from '../results/results.ts'

/** The maximum number of bytes of text in one result: about 8,000 tokens. */
const maxTextBytes = 32 * 1024

/** The largest image that is returned. Models accept 5 MB of base64. */
const maxImageBytes = 3 * 1024 * 1024

/** The part of a file to read. */
interface Part {
  /** The first line, from 1. */
  readonly startLine: number
  readonly maxLines: number
  readonly signal: AbortSignal
}

/** Reads a part of a text file, or a whole image. Other binary files are only described. */
export async function readForModel(files: Files, path: string, part: Part): Promise<CallToolResult> {
  const { signal } = part
  const lines = new Lines(part)
  let isFirst = true
  for await (const chunk of withWholeHead(await files.readStream(path, { signal }))) {
    if (isFirst) {
      const type = imageType(chunk)
      if (type !== null) return image(files, path, { type, signal })
      if (isBinary(chunk)) return binary(files, path, signal)
    }
    isFirst = false
    if (!lines.add(chunk)) break
  }
  if (isFirst) return textResult(`[${path} is empty]`)
  const text = lines.end()
  return textResult(text, isWrittenOut(text) ? writtenOutNote : '', lines.note)
}

const writtenOutNote =
  '[Control characters and invisible characters of the file are written out, as \\u001b. edit_file needs the characters themselves: change such places with run_command]'

function isWrittenOut(text: string): boolean {
  return shownText(text) !== text
}

/** Yields the chunks of a file. The first one has all bytes that tell the type. */
async function* withWholeHead(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let head: Uint8Array | null = new Uint8Array(0)
  for await (const chunk of chunks) {
    if (head === null) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < typeBytes) continue
    yield head
    head = null
  }
  if (head !== null && head.length > 0) yield head
}

async function image(
  files: Files,
  path: string,
  { type, signal }: { readonly type: string; readonly signal: AbortSignal },
): Promise<CallToolResult> {
  const bytes = await files.read(path, { end: maxImageBytes + 1, signal })
  if (bytes.length > maxImageBytes)
    return textResult(
      `[${path} is an image (${type}) of more than ${grouped(maxImageBytes)} bytes. Make a smaller copy with run_command, and read that]`,
    )
  return { content: [{ type: 'image', data: Buffer.from(bytes).toString('base64'), mimeType: type }] }
}

async function binary(files: Files, path: string, signal: AbortSignal): Promise<CallToolResult> {
  const { size_bytes } = await files.stat(path, { signal })
  return textResult(
    `[${path} is a binary file of ${grouped(size_bytes)} bytes. Look at it with run_command, for example with file, xxd or strings]`,
  )
}

const newline = 0x0a

/** Takes lines from a stream of bytes: those from `startLine` on, up to the limits. */
class Lines {
  readonly #part: Part
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The number of the line that the next byte belongs to. */
  #line = 1
  #text = ''
  #bytes = 0
  #isCut = false
  #isFull = false

  constructor(part: Part) {
    this.#part = part
  }

  /** Takes a chunk. Returns false if no more is needed. */
  add(chunk: Uint8Array): boolean {
    let rest = chunk
    while (rest.length > 0) {
      const end = rest.indexOf(newline) + 1
      const piece = end === 0 ? rest : rest.subarray(0, end)
      if (!this.#take(piece)) {
        this.#isFull = true
        return false
      }
      if (end > 0) this.#line += 1
      rest = rest.subarray(piece.length)
    }
    return true
  }

  /** Takes a piece of one line. Returns false if it does not fit. */
  #take(piece: Uint8Array): boolean {
    const { startLine, maxLines } = this.#part
    if (this.#line < startLine) return true
    if (this.#line >= startLine + maxLines) return false
    const room = maxTextBytes - this.#bytes
    if (piece.length > room && this.#bytes > 0 && this.#text.endsWith('\n')) return false
    const kept = piece.subarray(0, room)
    this.#text += this.#decoder.decode(kept, { stream: true })
    this.#bytes += kept.length
    this.#isCut = kept.length < piece.length
    return !this.#isCut
  }

  /** Returns the text. */
  end(): string {
    return this.#text + this.#decoder.decode()
  }

  /**
   * Returns a note on the omitted text, and on the way to get it. Empty if the text is the rest of
   * the file.
   */
  get note(): string {
    const { startLine } = this.#part
    if (this.#line < startLine) return `[The file has ${grouped(this.#line)} lines at most]`
    if (this.#isCut)
      return `[Line ${this.#line} is cut. For its rest, use run_command: sed -n ${this.#line}p FILE | cut -c N-M]`
    if (this.#isFull) return `[The file goes on: read it with start_line ${this.#line}]`
    return startLine > 1 && this.#bytes === 0 ? '[The file has no such line]' : ''
  }
}
