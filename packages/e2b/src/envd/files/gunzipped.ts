import { Readable, type Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ConnectError } from '../../errors/connect-error.ts'

/**
 * Yields the bytes of a body that was compressed with gzip, as they come. At most some hundred KiB
 * are in memory, whatever the body expands to.
 */
export async function* gunzipped(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const source = Readable.from(body, { objectMode: false })
  const gunzip: Transform = createGunzip()
  let fault: unknown
  source.on('error', (error) => {
    fault ??= error
    gunzip.destroy(error)
  })
  try {
    for await (const chunk of source.pipe(gunzip)) yield chunk as Buffer
  } catch (cause) {
    if (fault !== undefined) throw fault
    throw new ConnectError('invalid_argument', 'The body is not valid gzip.', { cause })
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}
