import { randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Descriptor } from '../image/oci-schemas.ts'
import type { ImageManifest } from './manifest.ts'

/** The content of a relay: one image. */
export interface RelayContent {
  readonly manifest: ImageManifest
  /**
   * Yields the bytes of the configuration or of a layer. Throws if they do not match the
   * descriptor.
   */
  blob(descriptor: Descriptor, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** A registry on loopback for one client. */
export interface Relay extends AsyncDisposable {
  /** The reference to the image in the relay: `127.0.0.1:PORT/image@sha256:...`. */
  readonly reference: string
  readonly address: string
  readonly username: string
  readonly password: string
  /** The error of the first blob that failed, or null. */
  readonly failure: unknown
}

const username = 'holt'
/** The maximum number of connections. skopeo fetches six layers at once. */
const maxConnections = 32

/**
 * Starts a registry for a client on this machine that connects to no other server. All users of the
 * machine can reach the port, so the client needs a password. The password is in no argument and no
 * environment.
 */
export async function startRelay({ manifest, blob }: RelayContent, signal: AbortSignal): Promise<Relay> {
  const password = randomBytes(24).toString('base64url')
  const expected = Buffer.from(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`)
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const blobs = new Map([manifest.config, ...manifest.layers].map((descriptor) => [descriptor.digest, descriptor]))
  let failed: { readonly error: unknown } | null = null

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (!isSame(Buffer.from(request.headers.authorization ?? ''), expected)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="holt"' }).end()
      return
    }
    const isHead = request.method === 'HEAD'
    if (!isHead && request.method !== 'GET') return void response.writeHead(405).end()
    if (request.url === '/v2/') return void response.writeHead(200).end()
    if (request.url === `/v2/image/manifests/${manifest.digest}`) {
      response.writeHead(200, headersOf(manifest.mediaType, manifest.digest, manifest.bytes.length))
      return void response.end(isHead ? undefined : manifest.bytes)
    }
    const descriptor = blobs.get(/^\/v2\/image\/blobs\/(sha256:[0-9a-f]{64})$/.exec(request.url ?? '')?.[1] ?? '')
    if (descriptor === undefined || failed !== null) return void response.writeHead(404).end()
    response.writeHead(200, headersOf('application/octet-stream', descriptor.digest, descriptor.size))
    if (isHead) return void response.end()
    await pipeline(blob(descriptor, ended), response).catch((error: unknown) => {
      // A client that disconnects knows of it, so that is no failure.
      if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') failed ??= { error }
      response.destroy()
    })
  }
  const server = createServer((request, response) => void answer(request, response))
  server.maxConnections = maxConnections
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    reference: `${address}/image@${manifest.digest}`,
    address,
    username,
    password,
    get failure() {
      return failed?.error ?? null
    },
    async [Symbol.asyncDispose]() {
      over.abort(new Error('the relay is closed'))
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function headersOf(type: string, digest: string, bytes: number) {
  return { 'content-type': type, 'content-length': bytes, 'docker-content-digest': digest }
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected)
}
