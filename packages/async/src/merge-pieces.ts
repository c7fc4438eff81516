import type { Readable, Writable } from 'node:stream'
import { GatheredBytes } from './gathered-bytes.ts'

/**
 * The size below which pieces are merged, in bytes. To copy a larger piece costs more than it
 * saves.
 */
const smallBytes = 16 * 1024

/** The number of small pieces of a stream after which other streams have their turn. */
const perTurn = 1_000

/**
 * The maximum number of pieces that are written to a stream before it has taken the first of them.
 */
const maxUntaken = 16

/**
 * Merges the small pieces that a byte stream buffers, and limits the pieces that `pipe` writes
 * ahead.
 *
 * A stream bounds its buffer in bytes. A piece of one byte takes some hundreds of bytes, or keeps
 * the whole buffer that was read from a socket with it. A client that sends a body in such pieces
 * would turn a window of 4 MiB into a GiB. Therefore the pieces behind the first one are held back
 * as one piece, until the reader asks for it.
 *
 * All data that Node itself reads comes through `push`, and all data that is read from a stream
 * comes through `read` (lib/_http_common.js, lib/internal/stream_base_commons.js,
 * lib/internal/streams/readable.js).
 */
export function mergePieces<Stream extends Readable>(stream: Stream): Stream {
  const push = stream.push.bind(stream)
  const read = stream.read.bind(stream)
  const held = new GatheredBytes()
  // A reader that has found less than it asked for waits for the next `push`.
  let readerWaits = false
  const release = () => held.length === 0 || push(held.take())
  const hasTurn = takeTurns(stream)
  stream.push = (piece: unknown, encoding?: BufferEncoding) => {
    if (!(piece instanceof Uint8Array) || piece.length >= smallBytes || piece.length === 0 || stream.destroyed) {
      release()
      return push(piece, encoding)
    }
    const mayWait = stream.readableLength > 0 && !readerWaits
    readerWaits = false
    // A part of a large buffer is copied in any case, because it would keep that buffer in memory.
    const isAlone = held.length === 0 && piece.buffer.byteLength < smallBytes
    const goesOn = hasTurn()
    if (isAlone && !mayWait) return push(piece) && goesOn
    held.add(piece)
    const { readableLength: kept, readableHighWaterMark: enough } = stream
    // A `Transform` checks how full its stream is, and ignores the return value
    // (lib/internal/streams/transform.js).
    const becomesEnough = kept < enough && kept + held.length >= enough
    const hasRoom = mayWait && !becomesEnough ? kept < enough : release()
    return hasRoom && goesOn
  }
  stream.read = (size?: number) => {
    if (size !== 0) release()
    const piece: unknown = read(size)
    readerWaits = piece === null && size !== 0
    return piece
  }
  pipeFew(stream)
  return stream
}

const waiting: (() => void)[] = []

/** Resumes one stream in each turn of the event loop: the one that has waited longest. */
function resumeNext(): void {
  try {
    waiting[0]?.()
  } finally {
    // Removed only now, so that a stream that arrives meanwhile does not schedule a second run.
    waiting.shift()
    if (waiting.length > 0) setImmediate(resumeNext)
  }
}

/**
 * Returns a function that counts small pieces. It returns false after many of them. The stream's
 * source is then not asked for more until the stream has its next turn.
 */
function takeTurns(stream: Readable): () => boolean {
  const readMore = stream._read.bind(stream)
  let pieces = 0
  let isAsked = false
  const resume = () => {
    pieces = 0
    if (stream.destroyed) return
    if (isAsked) readMore(stream.readableHighWaterMark)
    else stream.read(0)
    isAsked = false
  }
  stream._read = (size) => {
    if (pieces < perTurn) readMore(size)
    else isAsked = true
  }
  return () => {
    pieces += 1
    if (pieces === perTurn && waiting.push(resume) === 1) setImmediate(resumeNext)
    return pieces < perTurn
  }
}

/**
 * Limits the pieces that `pipe` writes ahead to those that the sink takes. Otherwise the sink would
 * buffer any number of them.
 */
function pipeFew(stream: Readable): void {
  const stops = new Map<Writable, () => void>()
  stream.pipe = (sink, { end = true } = {}) => {
    const target = sink as unknown as Writable
    let untaken = 0
    let isStopped = false
    const onData = (piece: Buffer) => {
      untaken += 1
      const hasRoom = target.write(piece, (error) => {
        untaken -= 1
        if (error != null || untaken > 0 || !isStopped) return
        isStopped = false
        stream.resume()
      })
      if (!hasRoom || untaken >= maxUntaken) {
        isStopped = true
        stream.pause()
      }
    }
    const onEnd = () => void (end && target.end())
    const stop = () => {
      stops.delete(target)
      stream.off('data', onData).off('end', onEnd)
      target.off('close', stop)
      isStopped = false
      stream.pause()
    }
    stops.set(target, stop)
    target.once('close', stop)
    stream.on('data', onData).once('end', onEnd).resume()
    if (stream.readableEnded) process.nextTick(onEnd)
    return sink
  }
  stream.unpipe = (sink?: NodeJS.WritableStream) => {
    for (const [target, stop] of stops) if (sink === undefined || target === sink) stop()
    return stream
  }
}
