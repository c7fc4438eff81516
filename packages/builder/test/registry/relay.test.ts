import { expect, test } from 'vitest'
import { defaultLimits } from '../../src/image/image-limits.ts'
import { readImageManifest } from '../../src/registry/manifest.ts'
import { startRelay } from '../../src/registry/relay.ts'
import { tinyImage } from '../support/bad-registry.ts'

const mediaType = 'application/vnd.oci.image.manifest.v1+json'
const signal = () => AbortSignal.timeout(30_000)

async function relayOf(blob?: () => AsyncIterable<Uint8Array>) {
  const image = await tinyImage()
  const bytes = { bytes: image.manifest, mediaType, digest: image.digest }
  const manifest = readImageManifest(bytes, 'ref', defaultLimits)
  async function* stored(digest: string): AsyncGenerator<Uint8Array> {
    yield image.blobs.get(digest) ?? Buffer.alloc(0)
  }
  const relay = await startRelay({ manifest, blob: ({ digest }) => blob?.() ?? stored(digest) }, signal())
  const auth = `Basic ${Buffer.from(`${relay.username}:${relay.password}`).toString('base64')}`
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`http://${relay.address}${path}`, { headers: { authorization: auth }, ...init })
  return { relay, image, get }
}

test('gives its one image to a client with the password', async () => {
  const { relay, image, get } = await relayOf()
  await using _ = relay
  const manifest = await get(`/v2/image/manifests/${image.digest}`)
  expect(Buffer.from(await manifest.arrayBuffer()).equals(image.manifest)).toBe(true)
  const layer = await get(`/v2/image/blobs/${image.layerDigest}`)
  expect(Buffer.from(await layer.arrayBuffer()).equals(image.layer)).toBe(true)
  expect((await get(`/v2/image/blobs/${image.layerDigest}`, { method: 'HEAD' })).headers.get('content-length')).toBe(
    String(image.layer.length),
  )
})

test.each([[{}], [{ authorization: 'Basic aG9sdDo=' }], [{ authorization: 'Bearer x' }]])(
  'refuses everyone else: %j',
  async (headers) => {
    const { relay, image, get } = await relayOf()
    await using _ = relay
    for (const path of ['/v2/', `/v2/image/manifests/${image.digest}`, `/v2/image/blobs/${image.layerDigest}`])
      expect((await get(path, { headers })).status).toBe(401)
  },
)

test('has nothing else, and is read-only', async () => {
  const { relay, image, get } = await relayOf()
  await using _ = relay
  const other = `sha256:${'0'.repeat(64)}`
  for (const path of [
    '/',
    '/v2/other/blobs/x',
    `/v2/image/blobs/${other}`,
    `/v2/image/manifests/${other}`,
    '/v2/image/manifests/latest',
  ])
    expect((await get(path)).status).toBe(404)
  expect((await get(`/v2/image/blobs/${image.layerDigest}`, { method: 'DELETE' })).status).toBe(405)
})

test('a failing blob closes the connection, and the relay knows why', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('begin')
    throw new Error('gone')
  }
  const { relay, image, get } = await relayOf(failing)
  await using _ = relay
  await expect(get(`/v2/image/blobs/${image.layerDigest}`).then((answer) => answer.text())).rejects.toThrow()
  expect(relay.failure).toMatchObject({ message: 'gone' })
})

test('a client that disconnects is no failure', async () => {
  const { promise: began, resolve } = Promise.withResolvers<void>()
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      resolve()
      yield Buffer.alloc(64 * 1024)
    }
  }
  const { relay, image, get } = await relayOf(endless)
  await using _ = relay
  const controller = new AbortController()
  const headers = { authorization: `Basic ${Buffer.from(`${relay.username}:${relay.password}`).toString('base64')}` }
  const reading = get(`/v2/image/blobs/${image.layerDigest}`, { signal: controller.signal, headers })
  await began
  controller.abort(new Error('enough'))
  await expect(reading.then((answer) => answer.text())).rejects.toThrow()
  expect(relay.failure).toBeNull()
})
