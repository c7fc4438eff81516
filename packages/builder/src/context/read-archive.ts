import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type Entry, readTar, TarError } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import { contextLimits } from './context-tree.ts'

const GZIP = [0x1f, 0x8b]
/** The maximum number of unpacked bytes, including headers and padding. */
const MAX_BYTES = contextLimits.contentBytes + contextLimits.entries * 4096

/**
 * Yields the members of a tar or tar.gz. Throws `BuilderError` `context_invalid` if the archive is
 * damaged.
 */
export async function* readArchive(source: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  try {
    yield* readTar(limited(await unzipped(source)))
  } catch (error) {
    if (error instanceof TarError) throw unreadable(error.message, error)
    if (isZlibError(error)) throw unreadable('its compression is damaged', error)
    throw error
  }
}

async function unzipped(source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = source[Symbol.asyncIterator]()
  const head: Uint8Array[] = []
  let length = 0
  for (; length < GZIP.length; ) {
    const next = await iterator.next()
    if (next.done === true) break
    head.push(next.value)
    length += next.value.length
  }
  const start = Buffer.concat(head)
  const whole = joined(start, iterator)
  if (!GZIP.every((byte, at) => start[at] === byte)) return whole
  const gunzip = createGunzip()
  // The reader of `gunzip` gets the errors, so this callback ignores them.
  pipeline(Readable.from(whole, { objectMode: false }), gunzip, () => {})
  return gunzip
}

/** Limits the unpacked size, because the limit of content ignores an archive of headers only. */
async function* limited(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const chunk of source) {
    length += chunk.length
    if (length > MAX_BYTES) throw unreadable('it is too large when unpacked', null)
    yield chunk
  }
}

async function* joined(start: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (start.length > 0) yield start
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
}

function unreadable(why: string, cause: unknown): BuilderError {
  return new BuilderError('context_invalid', `The context cannot be read: ${why}.`, { cause })
}
