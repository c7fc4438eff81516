import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { type Entry, writeTar } from '@holt/tar'

/** An image in memory. */
export interface TinyImage {
  readonly manifest: Buffer
  readonly digest: string
  /** The first layer. */
  readonly layer: Buffer
  readonly layerDigest: string
  readonly blobs: ReadonlyMap<string, Buffer>
}

/** The behaviour of a server. `honestly` answers as a registry should. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse, honestly: () => void) => void

/** A server on loopback that does as it is told, and remembers who came. */
export interface BadRegistry extends AsyncDisposable {
  readonly port: number
  /** `GET /v2/...` in the order of arrival. */
  readonly requests: { readonly line: string; readonly headers: IncomingMessage['headers'] }[]
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json'

/**
 * Makes an image of one file in each layer, with random content, which no compression makes
 * smaller. `change` puts other things into its manifest. With `repeats`, the last layer is the
 * first one again.
 */
export async function tinyImage(
  change: object = {},
  options: { architecture?: string; layers?: number; repeats?: boolean } = {},
): Promise<TinyImage> {
  const contents = Array.from({ length: options.layers ?? 1 }, () => randomBytes(400_000))
  const made = await Promise.all(contents.map((content) => collect(writeTar(oneFile(content)))))
  const tars = options.repeats === true ? [...made, ...made.slice(0, 1)] : made
  const layers = tars.map((tar) => gzipSync(tar))
  const architecture = options.architecture ?? (process.arch === 'x64' ? 'amd64' : process.arch)
  const rootfs = { type: 'layers', diff_ids: tars.map(sha256) }
  const config = json({ architecture, os: 'linux', config: {}, rootfs })
  const manifest = json({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: sha256(config), size: config.length },
    layers: layers.map((layer) => ({
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
      digest: sha256(layer),
      size: layer.length,
    })),
    ...change,
  })
  const blobs = new Map([config, ...layers].map((blob) => [sha256(blob), blob]))
  const [layer = Buffer.alloc(0)] = layers
  return { manifest, digest: sha256(manifest), layer, layerDigest: sha256(layer), blobs }
}

/** Starts a registry that has one image under every name, and misbehaves. */
export async function startBadRegistry(image: TinyImage, behave: Behaviour = (_, __, honestly) => honestly()) {
  const requests: BadRegistry['requests'] = []
  const server = createServer((request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers })
    behave(request, response, () => answerHonestly(image, request, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const registry: BadRegistry = {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return registry
}

/** Returns true if a request is for the layer of an image. */
export function isForLayer(image: TinyImage, { url, method }: IncomingMessage): boolean {
  return method === 'GET' && url?.endsWith(image.layerDigest) === true
}

function answerHonestly(image: TinyImage, request: IncomingMessage, response: ServerResponse): void {
  const blob = image.blobs.get(/sha256:[0-9a-f]{64}$/.exec(request.url ?? '')?.[0] ?? '')
  const body = request.url?.includes('/manifests/') === true ? image.manifest : blob
  if (body === undefined) return void response.writeHead(404).end()
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  response.writeHead(from === 0 ? 200 : 206, {
    'content-type': body === image.manifest ? manifestType : 'application/octet-stream',
    'content-length': body.length - from,
    ...(from === 0 ? {} : { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` }),
    ...(body === image.manifest ? { 'docker-content-digest': image.digest } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body.subarray(from))
}

async function* oneFile(content: Buffer): AsyncGenerator<Entry> {
  const body = (async function* () {
    yield content
  })()
  const common = { mode: 0o644, uid: 0, gid: 0, mtimeSecs: 0, mtimeNanos: 0 }
  yield { ...common, type: 'file', path: 'file', size: content.length, body }
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}
