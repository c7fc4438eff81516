import { HoltConnectionError, HoltError } from '../errors/errors.ts'
import { Broken } from '../transport/broken.ts'
import { streamOf } from '../transport/stream-of.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'

/** The range of a file to read: `start` inclusive, `end` exclusive. */
export interface ReadOptions extends CallOptions {
  readonly start?: number
  readonly end?: number
}

interface Reading {
  readonly transport: Transport
  readonly runtimeId: string
  readonly path: string
  readonly options: ReadOptions
}

/**
 * Opens a file for reading. After a broken connection, reading continues after the last byte. A
 * file that was changed meanwhile is a `conflict`, never a mixture of two versions. A file of
 * unknown size (in `/proc`, for example) cannot continue.
 */
export async function openContent(reading: Reading): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  return (await openVersion(reading)).stream
}

/** The content of a file as it was at one time. */
export interface FileVersion {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The etag of this version, for the option `ifMatch` of a write. */
  readonly etag: string
}

/** Reads a file with the etag of its version. */
export async function readVersion(reading: Reading): Promise<FileVersion> {
  const { etag, stream } = await openVersion(reading)
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  if (etag !== null) return { bytes, etag }
  throw new HoltError('unavailable', `The answer for ${reading.path} has no etag.`, {
    hint: 'Check whether a proxy on the way removes headers.',
  })
}

async function openVersion(
  reading: Reading,
): Promise<{ readonly etag: string | null; readonly stream: ReadableStream<Uint8Array<ArrayBuffer>> }> {
  const { start = 0, end } = reading.options
  const all = start === 0 && end === undefined
  const first = await open(reading, all ? {} : { range: `bytes=${start}-${end === undefined ? '' : end - 1}` })
  const stream = streamOf(chunksOf(reading, first)) as ReadableStream<Uint8Array<ArrayBuffer>>
  return { etag: first.headers.get('etag'), stream }
}

async function* chunksOf(reading: Reading, first: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const { transport, options } = reading
  const start = first.status === 206 ? (options.start ?? 0) : 0
  const length = Number(first.headers.get('content-length') ?? Number.NaN)
  const etag = first.headers.get('etag')
  const broken = new Broken(transport.options.resumeTimeoutMs, options.signal)
  let done = 0
  let response: Response | null = first
  for (;;) {
    try {
      const range = { range: `bytes=${start + done}-${start + length - 1}` }
      response ??= sameFile(reading.path, await open(reading, { ...range, 'if-range': etag ?? '' }))
      for await (const chunk of response.body ?? []) {
        done += chunk.length
        broken.mended()
        yield chunk
      }
      if (!(done < length)) return
      throw new TypeError('it ended early')
    } catch (error) {
      if (isFinal(error)) throw error
      if (etag === null || Number.isNaN(length)) options.signal?.throwIfAborted()
      await broken.pause(etag === null || Number.isNaN(length) ? notResumable(error) : error)
      response = null
    }
  }
}

/** Returns true if another read cannot succeed. */
function isFinal(error: unknown): boolean {
  return error instanceof HoltError && !(error instanceof HoltConnectionError) && error.code !== 'unavailable'
}

function notResumable(cause: unknown): Error {
  return new HoltError(
    'unavailable',
    'The transfer was interrupted, and the file cannot be read again from its middle.',
    {
      cause,
    },
  )
}

function sameFile(path: string, response: Response): Response {
  if (response.status === 206) return response
  void response.body?.cancel()
  throw new HoltError('conflict', `${path} changed while it was read`)
}

function open(
  { transport, runtimeId, path, options }: Reading,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const params = { runtime_id: runtimeId }
  return transport.open('readFile', { signal: options.signal, params, query: { path }, headers })
}
