import type { IncomingMessage } from 'node:http'
import { normalize } from 'node:path/posix'
import { Readable } from 'node:stream'
import { mergePieces } from '@holt/async'
import { mediaType } from '../../connect/call-headers.ts'
import { bodyChunks } from '../../connect/read-body.ts'
import { ConnectError } from '../../errors/connect-error.ts'
import { boundaryOf, readParts } from '../../multipart/read-parts.ts'
import type { FileFacts, Files } from '../backend/files.ts'
import type { VisitedSandbox } from '../backend/sandbox.ts'
import { baseName } from '../entry/base-name.ts'
import { gunzipped } from './gunzipped.ts'
import { metadataIn } from './metadata-headers.ts'

/** An upload: where its files go, and for whom. */
export interface Upload {
  readonly request: IncomingMessage
  readonly sandbox: VisitedSandbox
  readonly files: Files
  /** The account for which the files are written. Null: the default one. */
  readonly account: string | null
  /** The path in the query. Null: none. */
  readonly path: string | null
  readonly signal: AbortSignal
}

/** A file in the answer to an upload. */
interface Uploaded {
  readonly name: string
  readonly type: 'file'
  readonly path: string
  readonly metadata?: Readonly<Record<string, string>>
}

/** The maximum number of bytes of one piece of a body that is written. */
const pieceBytes = 256 * 1024

/** The maximum number of bytes of a form in parts that are no files. Clients send none. */
const maxOtherBytes = 1024 * 1024

/**
 * Writes the files of an upload, in their order. Files that were written stay if a later one fails.
 */
export async function upload({ request, ...rest }: Upload): Promise<readonly Uploaded[]> {
  const { sandbox, path } = rest
  const metadata = metadataIn(request)
  const chunks = bodyChunks(request, sandbox.limits.quietMs)
  const body = isZipped(request) ? gunzipped(chunks) : chunks
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary !== null) return writeForm(readForm(body, boundary, path), { ...rest, metadata })
  if (mediaType(request.headers) !== 'application/octet-stream')
    throw new ConnectError(
      'invalid_argument',
      'The Content-Type must be multipart/form-data or application/octet-stream.',
    )
  if (path === null) throw new ConnectError('invalid_argument', 'The query must have the parameter path.')
  return [await writeOne(body, path, { ...rest, metadata })]
}

function isZipped({ headers }: IncomingMessage): boolean {
  const coding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'gzip') return true
  if (coding === 'identity') return false
  throw new ConnectError('invalid_argument', 'The Content-Encoding must be gzip, or absent.')
}

/** A file of a form, and the path to which it goes. */
interface FormFile {
  readonly path: string
  readonly content: AsyncIterable<Buffer>
}

/** Yields the files of a form. The path in the query comes before the names of the files. */
async function* readForm(body: AsyncIterable<Buffer>, boundary: Buffer, path: string | null): AsyncGenerator<FormFile> {
  let otherBytes = 0
  for await (const { name, filename, content } of readParts(body, boundary)) {
    if (name !== 'file') {
      // A part that nobody reads costs time too, and a short body may unpack to a long one.
      for await (const { length } of content) {
        otherBytes += length
        if (otherBytes > maxOtherBytes) throw tooLongOthers()
      }
      continue
    }
    const wanted = path ?? filename
    if (wanted === null || wanted === '')
      throw new ConnectError('invalid_argument', 'A file of the form has no name, and the query has no path.')
    yield { path: wanted, content }
  }
}

type Writing = Omit<Upload, 'request' | 'path'> & { readonly metadata: Readonly<Record<string, string>> }

async function writeForm(files: AsyncIterable<FormFile>, writing: Writing): Promise<readonly Uploaded[]> {
  const written: Uploaded[] = []
  const paths = new Set<string>()
  for await (const file of files) {
    const spelled = normalize(file.path)
    if (paths.has(spelled)) throw twice(spelled)
    const one = await writeOne(file.content, file.path, writing)
    // An absolute path and a relative one may mean the same file.
    if (spelled !== one.path && paths.has(one.path)) throw twice(one.path)
    if (!writing.sandbox.limits.keep(4 * one.path.length))
      throw new ConnectError('resource_exhausted', 'Too many large requests are under way.')
    paths.add(spelled).add(one.path)
    written.push(one)
  }
  if (written.length === 0) throw new ConnectError('invalid_argument', 'The form has no part with the name file.')
  return written
}

function tooLongOthers(): ConnectError {
  return new ConnectError('invalid_argument', `Parts that are no files may have at most ${maxOtherBytes} bytes.`)
}

function twice(path: string): ConnectError {
  return new ConnectError('invalid_argument', `The form has the path '${path}' twice.`)
}

async function writeOne(
  content: AsyncIterable<Buffer>,
  path: string,
  { files, account, metadata, signal }: Writing,
): Promise<Uploaded> {
  const body = mergePieces(Readable.from(content, { objectMode: false, highWaterMark: pieceBytes }))
  const { fault, stream } = withFault(body)
  try {
    return uploaded(await files.write({ account, path, metadata }, stream, signal))
  } catch (error) {
    // The fault of the body says more than the write that it has broken.
    throw fault() ?? error
  } finally {
    body.destroy()
  }
}

/** Notes the error with which a body fails. */
function withFault(stream: Readable): { readonly stream: Readable; fault(): Error | null } {
  let fault: Error | null = null
  stream.on('error', (error) => {
    fault ??= error
  })
  return { stream, fault: () => (fault instanceof ConnectError ? fault : null) }
}

function uploaded({ path, metadata }: FileFacts): Uploaded {
  return { name: baseName(path), type: 'file', path, ...(metadata === null ? {} : { metadata }) }
}
