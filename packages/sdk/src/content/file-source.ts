import { HoltError } from '../errors/errors.ts'
import { readHere, withLocalErrors } from '../errors/local-error.ts'
import { streamOf } from '../transport/stream-of.ts'
import type { RequestBytes } from '../transport/transport.ts'

/**
 * Content of a known size that can be read from any byte on, so that an interrupted write can
 * continue.
 */
export interface FileSource {
  readonly size: number
  /** Opens the bytes from `start` to the end. */
  readonly stream: (start: number) => ByteStream
  /**
   * Returns the bytes from `start` up to and without `end`. Content with this is sent as blobs,
   * because browsers send streams over HTTP/2 only.
   */
  readonly slice?: (start: number, end: number) => Blob
}

/** A Web stream, a Node stream, or another iterable of bytes. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>

/**
 * The content of a file to write. A function is called again for each retry; a plain stream is sent
 * once. A `FileSource`, and content in memory, continue where the write was interrupted.
 */
export type FileContent = RequestBytes | FileSource | AsyncIterable<Uint8Array | string>

/** Returns a file of this machine as a source. Only regular files are accepted. */
export async function fileSource(path: string): Promise<FileSource> {
  const { createReadStream } = await import('node:fs')
  const { stat } = await import('node:fs/promises')
  const found = await withLocalErrors(() => stat(path))
  if (!found.isFile()) throw new HoltError('not_a_file', `${path} is not a regular file`)
  // A file that grows meanwhile is sent with its original size.
  return {
    size: found.size,
    stream: (start) => readHere(createReadStream(path, { start, end: Math.max(start, found.size - 1) })),
  }
}

/** Returns the content as a source; null if it cannot be one. */
export function sourceOf(content: FileContent): FileSource | null {
  if (typeof content === 'string' || content instanceof Uint8Array) return sourceOf(new Blob([content]))
  if (content instanceof Blob)
    return {
      size: content.size,
      stream: (start) => content.slice(start).stream(),
      slice: (start, end) => content.slice(start, end),
    }
  return isSource(content) ? content : null
}

/** Returns the content in the form that the transport takes. */
export function bytesOf(content: FileContent): RequestBytes {
  if (isSource(content)) return () => (content.size === 0 ? new Blob([]).stream() : webStream(content.stream(0)))
  if (typeof content === 'object' && !(content instanceof ReadableStream) && Symbol.asyncIterator in content)
    return webStream(content)
  return content as RequestBytes
}

/** Returns any stream as a Web stream of bytes. */
export function webStream(stream: ByteStream): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (stream instanceof ReadableStream) return stream as ReadableStream<Uint8Array<ArrayBuffer>>
  return streamOf(encoded(stream)) as ReadableStream<Uint8Array<ArrayBuffer>>
}

async function* encoded(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for await (const chunk of stream) yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk
}

function isSource(content: FileContent): content is FileSource {
  return typeof content === 'object' && 'size' in content && 'stream' in content && !(content instanceof Blob)
}
