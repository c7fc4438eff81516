import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { pipeline } from 'node:stream/promises'
import { type ByteRange, type Engine, EngineError, type Transfer } from '@holt/engine'
import type { Log } from '../../foundation/log.ts'
import type { PeerStream } from '../peers/peer-listener.ts'
import { type AskedArtifact, parseArtifactPath, parseRange } from './artifact-wire.ts'
import type { FetchMetrics } from './fetch-metrics.ts'

/**
 * The ranges that are sent at once. A host reads four at once, so this serves four hosts. Others
 * get 503 and ask elsewhere: they find more sources as more hosts have the artifact.
 */
const maxRangesAtOnce = 16

/** The time in which another host takes something of a range, in milliseconds. */
const idleMs = 30_000

/** The parts of the answers to requests for artifacts. */
export interface ServeOptions {
  readonly engine: Pick<Engine, 'ability'>
  readonly metrics: Pick<FetchMetrics, 'noteSent'>
  readonly log: Log
  /** The ranges that are sent at once. Default: 16. */
  readonly atOnce?: number
}

/** Gives the artifacts of this host to other hosts of the fleet. */
export class ArtifactServer {
  readonly #options: ServeOptions
  #sending = 0

  constructor(options: ServeOptions) {
    this.#options = options
  }

  /**
   * Answers `GET /peer/artifact/KIND/ID` with a description, and `GET …/FILE` with the range of the
   * file that `range` names.
   */
  async answer({ hostId, stream, headers }: PeerStream): Promise<void> {
    const asked = parseArtifactPath(headers[':path'] ?? '')
    const transfer = this.#options.engine.ability('transfer')
    if (asked === null || headers[':method'] !== 'GET' || transfer === null) return refuse(stream, 404)
    try {
      if (asked.file === null) await describe(transfer, asked, stream)
      else await this.#send(transfer, { ...asked, file: asked.file }, { stream, headers })
    } catch (err) {
      this.#options.log.debug({ err, host_id: hostId, artifact_id: asked.ref.id }, 'an artifact was not sent')
      refuse(stream, statusOf(err))
    }
  }

  async #send(
    transfer: Transfer,
    { ref, file }: AskedArtifact & { readonly file: string },
    { stream, headers }: { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders },
  ): Promise<void> {
    const { atOnce = maxRangesAtOnce } = this.#options
    const range = parseRange(headers.range)
    if (range === null) return refuse(stream, 416)
    if (this.#sending >= atOnce) return refuse(stream, 503)
    this.#sending += 1
    const ended = new AbortController()
    stream.once('close', () => ended.abort())
    try {
      const content = await transfer.read(ref, file, range, ended.signal)
      if (stream.destroyed || stream.closed) return
      stream.setTimeout(idleMs, () => stream.close(constants.NGHTTP2_CANCEL))
      stream.respond({ ':status': 206, 'content-length': String(range.length) })
      await pipeline(this.#counted(content, range), stream)
    } finally {
      ended.abort()
      this.#sending -= 1
    }
  }

  async *#counted(content: AsyncIterable<Uint8Array>, { length }: ByteRange): AsyncGenerator<Uint8Array> {
    let left = length
    for await (const piece of content) {
      left -= piece.length
      this.#options.metrics.noteSent(piece.length)
      yield piece
    }
    if (left !== 0) throw new Error('the file became shorter')
  }
}

async function describe(transfer: Transfer, { ref }: AskedArtifact, stream: ServerHttp2Stream): Promise<void> {
  const body = Buffer.from(JSON.stringify(await transfer.describe(ref)))
  if (stream.destroyed || stream.closed) return
  stream.respond({ ':status': 200, 'content-type': 'application/json', 'content-length': String(body.length) })
  stream.end(body)
}

function statusOf(error: unknown): number {
  if (!(error instanceof EngineError)) return 500
  if (error.kind === 'invalid') return 416
  return error.kind === 'not_found' || error.kind === 'damaged' ? 404 : 500
}

/** Refuses a request, or breaks off an answer that has begun. */
function refuse(stream: ServerHttp2Stream, status: number): void {
  if (stream.destroyed || stream.closed) return
  if (stream.headersSent) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else stream.respond({ ':status': status }, { endStream: true })
}
