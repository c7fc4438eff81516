import type { Writable } from 'node:stream'

/** The error of a chunk that may not leave. */
export class WriteRefused extends Error {
  override readonly name = 'WriteRefused'
}

/**
 * Asks before each chunk of a stream whether it may be written. A refused chunk fails the stream
 * with `WriteRefused`. Chunks that wait in the stream's buffer are asked about when their turn
 * comes.
 */
export function guardWrites(stream: Writable, mayWrite: () => boolean): void {
  const write = stream._write.bind(stream)
  const writev = stream._writev?.bind(stream)
  const refused = () => new WriteRefused('the chunk may not leave')
  stream._write = (chunk, encoding, done) => (mayWrite() ? write(chunk, encoding, done) : done(refused()))
  if (writev !== undefined) stream._writev = (chunks, done) => (mayWrite() ? writev(chunks, done) : done(refused()))
}
