import type { Readable, Writable } from 'node:stream'
import { GatheredBytes } from './gathered-bytes.ts'

/** Smaller pieces are put together; to copy a larger one would cost more than it saves. */
const smallBytes = 16 * 1024

/** After so many small pieces of a stream others have their turn. */
const perTurn = 1_000

/** How many pieces are written to a stream before it has taken the first of them. */
const maxUntaken = 16

/**
 * Has a stream of bytes keep what its reader leaves waiting in few pieces, and hand few on through
 * `pipe`. A stream bounds what it keeps by bytes, and a piece of one byte takes some hundreds, or
 * all that was read from a socket along with it: whoever sends a body so would have a window of 4
 * MiB take a GiB. What waits behind a first piece is one more, until it is asked for. All that Node
 * itself reads comes through `push`, and all that is read of a stream through `read`
 * (lib/_http_common.js, lib/internal/stream_base_commons.js, lib/internal/streams/readable.js).
 */
export function mergePieces<Stream extends Readable>(stream: Stream): Stream {
  const push = stream.push.bind(stream)
  const read = stream.read.bind(stream)
  const held = new GatheredBytes()
  // A reader that has found less than it asked for waits to be told of the next piece.
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
    // What is a part of something large is copied in any case: it would keep all of that.
    const isAlone = held.length === 0 && piece.buffer.byteLength < smallBytes
    const goesOn = hasTurn()
    if (isAlone && !mayWait) return push(piece) && goesOn
    held.add(piece)
    const { readableLength: kept, readableHighWaterMark: enough } = stream
    // A `Transform` goes by what its stream keeps, whatever the answer is
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

/** Goes on with one stream in each turn of the event loop, the one that has waited longest. */
function goOn(): void {
  try {
    waiting[0]?.()
  } finally {
    // Only now: whoever comes meanwhile finds that somebody goes on already.
    waiting.shift()
    if (waiting.length > 0) setImmediate(goOn)
  }
}

/**
 * Counts small pieces. Where it answers false there have been many, and whoever reads for the
 * stream is not asked for more until its turn comes again.
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
    if (pieces === perTurn && waiting.push(resume) === 1) setImmediate(goOn)
    return pieces < perTurn
  }
}

/**
 * Has `pipe` write no more pieces than the other stream takes: else it would be that one which
 * keeps any number.
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
