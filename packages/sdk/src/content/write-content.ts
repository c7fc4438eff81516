import type { FileInfo, Upload } from '@holt/protocol'
import { HoltApiError, HoltError } from '../errors/errors.ts'
import { Broken } from '../transport/broken.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'
import { bytesOf, type FileContent, type FileSource, sourceOf, webStream } from './file-source.ts'

/** The options for writing a file. */
export interface WriteOptions extends CallOptions {
  /** The mode in octal, for example `"0644"`. Default: the mode of an existing file stays. */
  readonly mode?: string | undefined
  /** The owner of a new file. Default: the template's user. */
  readonly user?: string | undefined
  /** False if an existing file is an `already_exists` error. Default true. */
  readonly overwrite?: boolean | undefined
  /**
   * The etag of the version to replace, as `readVersion` and `stat` have it, or `*` for any
   * existing file. If the file is another one, the write fails with `precondition_failed`.
   */
  readonly ifMatch?: string | undefined
  /**
   * The SHA-256 digest of the content in hexadecimal. If other bytes arrive, the write fails with
   * `digest_mismatch`.
   */
  readonly sha256?: string | undefined
  /** Called as bytes are sent. After a break the count returns to the bytes that had arrived. */
  readonly onProgress?: (bytes: number) => void
}

/** The size from which content is sent in parts, so that it can continue after a break. */
const resumableBytes = 8 * 1024 * 1024

/** The bytes of a part of content in memory, after each of which there is progress to report. */
const partBytes = 4 * 1024 * 1024

interface Writing {
  readonly transport: Transport
  readonly runtimeId: string
  readonly path: string
  readonly options: WriteOptions
}

/** Writes a whole file or nothing. */
export async function writeContent(writing: Writing, content: FileContent): Promise<FileInfo> {
  const source = sourceOf(content)
  const { onProgress, overwrite, ifMatch } = writing.options
  // After a lost answer, an upload knows whether it is complete. A plain write would find its own
  // file.
  const isConditional = overwrite === false || ifMatch !== undefined
  if (source !== null && (source.size >= resumableBytes || isConditional)) return writeInParts(writing, source)
  const bytes = bytesOf(content)
  if (source === null || onProgress === undefined) return fileOf(await put(writing, { bytes, query: {} }))
  if (source.size === 0 || source.slice !== undefined) {
    onProgress(0)
    const file = fileOf(await put(writing, { bytes, query: {} }))
    onProgress(source.size)
    return file
  }
  const counted = () => counting(webStream(source.stream(0)), 0, onProgress)
  return fileOf(await put(writing, { bytes: counted, query: {} }))
}

/** Sends content from the service's offset on, until the service has all of it. */
async function writeInParts(writing: Writing, source: FileSource): Promise<FileInfo> {
  const { transport, options } = writing
  const upload_id = crypto.randomUUID()
  const broken = new Broken(transport.options.resumeTimeoutMs, options.signal)
  let offset = 0
  try {
    for (;;) {
      const from = offset
      try {
        const sent = await sendPart(writing, source, { upload_id, offset: from })
        if (!('upload_id' in sent)) return sent
        broken.mended()
        offset = Math.min(sent.offset_bytes, source.size)
        continue
      } catch (error) {
        await broken.pause(isOutOfStep(error) ? new TypeError('out of step', { cause: error }) : error)
      }
      const upload = await statusOf(writing, upload_id, broken)
      if (upload.completed) return await statOf(writing)
      if (upload.offset_bytes > from) broken.mended()
      offset = Math.min(upload.offset_bytes, source.size)
    }
  } catch (error) {
    // The service would collect the partial upload anyway. The caller needs the original failure.
    await transport
      .run('abortUpload', { params: paramsOf(writing), query: { path: writing.path, upload_id } })
      .catch(() => undefined)
    throw error
  }
}

/**
 * Sends content from an offset on: all that is left, or one part of content in memory whose
 * progress somebody follows.
 */
async function sendPart(
  writing: Writing,
  source: FileSource,
  { upload_id, offset }: { readonly upload_id: string; readonly offset: number },
): Promise<FileInfo | Upload> {
  const { onProgress } = writing.options
  if (source.slice === undefined) {
    const bytes = counting(webStream(source.stream(offset)), offset, onProgress)
    return fileOf(await put(writing, { bytes, query: { upload_id, offset } }))
  }
  const end = onProgress === undefined ? source.size : Math.min(source.size, offset + partBytes)
  const partial = end < source.size
  onProgress?.(offset)
  const sent = await put(writing, {
    bytes: source.slice(offset, end),
    query: { upload_id, offset, ...(partial ? { partial } : {}) },
  })
  onProgress?.(end)
  return partial ? sent : fileOf(sent)
}

/**
 * Returns true if the offset is stale. The service may have been writing earlier bytes when it
 * reported its offset.
 */
function isOutOfStep(error: unknown): boolean {
  return error instanceof HoltApiError && error.code === 'conflict'
}

async function statusOf(writing: Writing, upload_id: string, broken: Broken): Promise<Upload> {
  const { transport, path, options } = writing
  for (;;) {
    try {
      const query = { path, upload_id }
      return await transport.call('getUpload', { signal: options.signal, params: paramsOf(writing), query })
    } catch (error) {
      await broken.pause(error)
    }
  }
}

function statOf(writing: Writing): Promise<FileInfo> {
  const { transport, path, options } = writing
  return transport.call('statFile', { signal: options.signal, params: paramsOf(writing), query: { path } })
}

function put(
  writing: Writing,
  {
    bytes,
    query,
  }: { bytes: Parameters<typeof bytesOf>[0]; query: { upload_id?: string; offset?: number; partial?: boolean } },
): Promise<FileInfo | Upload> {
  const { path, options } = writing
  const { signal, mode, user, overwrite = true, ifMatch, sha256 } = options
  return writing.transport.call('writeFile', {
    signal,
    params: paramsOf(writing),
    query: { path, mode, user, ...query },
    bytes: bytesOf(bytes),
    resumes: query.upload_id !== undefined,
    headers: {
      ...(overwrite ? {} : { 'if-none-match': '*' }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(sha256 === undefined ? {} : digestHeader(sha256)),
    },
    timeoutMs: null,
  })
}

/** Returns the digest header of RFC 9530. */
function digestHeader(sha256: string): Record<string, string> {
  if (!/^[0-9a-f]{64}$/i.test(sha256)) throw new HoltError('invalid_request', 'sha256 must be 64 hexadecimal digits')
  const bytes = Uint8Array.from(sha256.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
  return { 'repr-digest': `sha-256=:${btoa(String.fromCharCode(...bytes))}:` }
}

function fileOf(answer: FileInfo | Upload): FileInfo {
  if ('upload_id' in answer) throw new HoltError('internal', 'The service treated the part as a whole file')
  return answer
}

function paramsOf({ runtimeId }: Writing) {
  return { runtime_id: runtimeId }
}

function counting(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  from: number,
  onProgress: WriteOptions['onProgress'],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (onProgress === undefined) return stream
  let bytes = from
  onProgress(bytes)
  return stream.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.length
        onProgress(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
}
