import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setInterval } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type BuildError,
  makeBaseImages,
  type PullOptions,
  PullsUnderWay,
  type RegistrySettings,
} from '../../src/index.ts'
import type { RetryPolicy } from '../../src/registry/retry-policy.ts'
import {
  type BadRegistry,
  type Behaviour,
  isForLayer,
  startBadRegistry,
  type TinyImage,
  tinyImage,
} from '../support/bad-registry.ts'
import { directNetwork } from '../support/direct-network.ts'
import { makeShelf } from '../support/image-shelf.ts'

const retryPolicy = { attempts: 3, firstDelayMs: 1, maxDelayMs: 5, minWindowBytes: 4096 }
/** For what never comes; a machine under load is no reason to give up anything else. */
const hurry: Readonly<Record<string, Partial<RetryPolicy>>> = {
  drips: { windowMs: 300 },
  'never answers': { headTimeoutMs: 1000 },
}
const login = { registry: null, username: 'somebody', password: 'not-for-others' }
const signal = () => AbortSignal.timeout(25_000)

/** Pulls `registry.test/team/app:1` from a network of named servers, and leaves nothing. */
async function pull(
  hosts: Readonly<Record<string, BadRegistry>>,
  change: Partial<PullOptions> & { settings?: RegistrySettings; retryPolicy?: Partial<RetryPolicy> } = {},
) {
  const workDir = await mkdtemp(join(tmpdir(), 'holt-bad-'))
  onTestFinished(() => rm(workDir, { recursive: true }))
  const ports = Object.fromEntries(Object.entries(hosts).map(([name, { port }]) => [name, port]))
  const network = directNetwork(ports)
  const { settings = { mirrors: [], insecure: [] }, retryPolicy: less = {}, ...options } = change
  const hasty = { retryPolicy: { ...retryPolicy, ...less } }
  const shelf = makeShelf()
  const images = makeBaseImages({ ...shelf, network, settings, workDir, underWay: new PullsUnderWay(), ...hasty })
  const all = { auth: null, onProgress: () => undefined, signal: signal(), ...options }
  const result = await images
    .resolve('registry.test/team/app:1', all)
    .then((resolved) => images.ensure(resolved, all))
    .catch((error: BuildError) => error)
  expect(await readdir(workDir)).toEqual([])
  return { result, asked: network.asked.map(({ host }) => host) }
}

/**
 * Does something else than a registry should, the first `times` times that a request is for what
 * `when` says.
 */
function atFirst(times: number, when: (request: Parameters<Behaviour>[0]) => boolean, otherwise: Behaviour): Behaviour {
  let left = times
  return (request, response, honestly) => {
    if (!when(request) || left === 0) return honestly()
    left -= 1
    otherwise(request, response, honestly)
  }
}

/** Returns the digest of the configuration of an image. */
function configOf({ manifest }: TinyImage): string {
  return (JSON.parse(manifest.toString()) as { config: { digest: string } }).config.digest
}

const always = Number.POSITIVE_INFINITY
const anything = () => true

describe('a registry that misbehaves', () => {
  test.each<[string, number, Record<string, string>]>([
    ['has errors and recovers', 500, {}],
    ['is overloaded and recovers', 503, {}],
    ['limits for a while', 429, { 'retry-after': '0' }],
    ['limits until a time that is past', 429, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ])('one that %s is asked again', async (_what, status, headers) => {
    const image = await tinyImage()
    const behave = atFirst(2, anything, (_, response) => response.writeHead(status, headers).end())
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry })
    expect(result).toMatchObject({ digest: image.digest })
    expect(registry.requests.slice(0, 3).map(({ line }) => line)).toEqual(
      new Array(3).fill('HEAD /v2/team/app/manifests/1'),
    )
  })

  test('a registry that always fails or asks for an hour is given up', async () => {
    const image = await tinyImage()
    for (const [headers, requests] of [
      [{}, 3],
      [{ 'retry-after': '3600' }, 1],
    ] as const) {
      await using registry = await startBadRegistry(image, (_, response) => response.writeHead(429, headers).end())
      const { result } = await pull({ 'registry.test': registry })
      expect(result).toMatchObject({
        code: 'image_pull_failed',
        message: expect.stringContaining('limits the rate'),
        hint: expect.stringMatching(/registry_auth.*mirror/),
      })
      expect(registry.requests).toHaveLength(requests)
    }
  })

  test.each([
    ['continues after the break', true],
    ['sends all again', false],
  ])('an interrupted layer is completed by a registry that %s', async (_what, isRanged) => {
    const image = await tinyImage()
    const half = image.layer.length >> 1
    const behave: Behaviour = (request, response, honestly) => {
      if (!isForLayer(image, request)) return honestly()
      const isFirst = request.headers.range === undefined
      if (!isFirst && isRanged) return honestly()
      response.writeHead(200, { 'content-length': image.layer.length })
      if (isFirst) response.write(image.layer.subarray(0, half), () => response.destroy())
      else response.end(image.layer)
    }
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry })
    expect(result).toMatchObject({ digest: image.digest })
    const ranges = registry.requests.flatMap(({ headers }) => headers.range ?? [])
    expect(ranges).toEqual([expect.stringMatching(/^bytes=[1-9]\d*-$/)])
  })

  test.each<[string, RegExp, Behaviour]>([
    [
      'breaks off every time',
      /closed the connection/,
      (_, response) => {
        response.writeHead(200)
        response.write('x', () => response.destroy())
      },
    ],
    [
      'ends every time before anything came',
      /too early|closed the connection/,
      (_, response) => response.writeHead(200).end(),
    ],
    [
      'drips',
      /stopped sending/,
      (_, response) => {
        response.writeHead(200)
        const drip = async () => {
          for await (const _tick of setInterval(20)) if (!response.write('x') || response.destroyed) return
        }
        void drip()
      },
    ],
    ['never answers', /does not answer/, () => undefined],
    [
      'redirects for ever',
      /redirects more than/,
      (request, response) => response.writeHead(307, { location: `${request.url}?` }).end(),
    ],
    ['redirects to nowhere', /redirects without a Location/, (_, response) => response.writeHead(302).end()],
    [
      'redirects to the metadata address',
      /without TLS/,
      (_, response) => response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end(),
    ],
    [
      'redirects to the metadata address over TLS',
      /not public/,
      (_, response) => response.writeHead(307, { location: 'https://169.254.169.254/latest' }).end(),
    ],
    [
      'redirects to loopback',
      /not public/,
      (_, response) => response.writeHead(307, { location: 'https://127.0.0.1:22/' }).end(),
    ],
    [
      'redirects to loopback in IPv6',
      /not public/,
      (_, response) => response.writeHead(307, { location: 'https://[::1]/' }).end(),
    ],
    [
      'redirects to a file',
      /not HTTP/,
      (_, response) => response.writeHead(307, { location: 'file:///etc/passwd' }).end(),
    ],
    [
      'redirects with a password',
      /credentials in it/,
      (_, response) => response.writeHead(307, { location: 'https://a:b@store.test/' }).end(),
    ],
    [
      'sends another part',
      /another part/,
      (_, response) => response.writeHead(206, { 'content-range': 'bytes 7-9/10' }).end('abc'),
    ],
    ['answers with what means nothing', /status 418/, (_, response) => response.writeHead(418).end()],
  ])('one whose layer %s ends in a failure that says so', async (what, message, answer) => {
    const image = await tinyImage()
    const behave = atFirst(always, (request) => isForLayer(image, request), answer)
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry }, { retryPolicy: hurry[what] ?? {} })
    expect(result).toMatchObject({ code: 'image_pull_failed', message: expect.stringMatching(message) })
  })

  test.each<[string, (layer: Buffer) => [Record<string, string | number>, Buffer]]>([
    ['has other content', (layer) => [{}, Buffer.alloc(layer.length, 7)]],
    ['is said to be longer', (layer) => [{ 'content-length': layer.length + 1 }, Buffer.concat([layer, Buffer.of(0)])]],
    ['is said to be shorter', (layer) => [{ 'content-length': 10 }, layer.subarray(0, 10)]],
  ])('a layer that %s is damaged, and is not asked for again', async (_what, lie) => {
    const image = await tinyImage()
    const [headers, body] = lie(image.layer)
    const behave = atFirst(
      always,
      (request) => isForLayer(image, request),
      (_, response) => response.writeHead(200, headers).end(body),
    )
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry })
    const asked = registry.requests.filter(({ line }) => line.includes(image.layerDigest))
    expect(result).toMatchObject({ code: 'image_pull_failed', message: expect.stringContaining('damaged') })
    expect(asked).toHaveLength(1)
  })

  test('six layers are fetched at once, and a layer that the image has twice only once', async () => {
    const image = await tinyImage({}, { layers: 8, repeats: true })
    const waiting: (() => void)[] = []
    let [open, most] = [0, 0]
    const behave: Behaviour = ({ url }, response, honestly) => {
      if (url?.includes('/blobs/') !== true || url.endsWith(configOf(image))) return honestly()
      open += 1
      most = Math.max(most, open)
      response.once('close', () => {
        open -= 1
      })
      // No answer comes before the sixth request.
      waiting.push(honestly)
      if (most === 6) for (const answer of waiting.splice(0)) answer()
    }
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry })
    expect(result).toMatchObject({ digest: image.digest })
    expect(most).toBe(6)
    const layers = registry.requests.filter(({ line }) => line.includes('/blobs/') && !line.endsWith(configOf(image)))
    expect(layers).toHaveLength(8)
  })

  test('bytes after the end of a layer are not read', async () => {
    const image = await tinyImage()
    const behave = atFirst(
      always,
      (request) => isForLayer(image, request),
      (_, response) => {
        response.writeHead(200, { 'transfer-encoding': 'chunked' })
        // It never ends.
        response.write(Buffer.concat([image.layer, Buffer.alloc(2 ** 20)]))
      },
    )
    await using registry = await startBadRegistry(image, behave)
    expect((await pull({ 'registry.test': registry })).result).toMatchObject({ digest: image.digest })
  })

  test('a manifest with a wrong digest is damaged, and one of 10 MiB is refused', async () => {
    const image = await tinyImage()
    for (const [bytes, expected] of [
      [Buffer.from(`${image.manifest} `), { code: 'image_pull_failed', message: expect.stringContaining('damaged') }],
      [Buffer.alloc(10 * 2 ** 20, ' '), { code: 'image_unsupported' }],
    ] as const) {
      const behave = atFirst(
        always,
        ({ method, url }) => method === 'GET' && url?.includes('/manifests/') === true,
        (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(bytes),
      )
      await using registry = await startBadRegistry(image, behave)
      expect((await pull({ 'registry.test': registry })).result).toMatchObject(expected)
    }
  })

  const oci = 'application/vnd.oci.image'
  const one = { digest: `sha256:${'1'.repeat(64)}`, size: 1 }
  test.each<[string, object, string]>([
    [
      'layers that lie elsewhere',
      { layers: [{ ...one, mediaType: `${oci}.layer.v1.tar+gzip`, urls: ['https://store.test/a'] }] },
      'outside of the registry',
    ],
    ['layers of another kind', { layers: [{ ...one, mediaType: 'application/octet-stream' }] }, 'a layer of the kind'],
    [
      'the configuration of something else',
      { config: { ...one, mediaType: 'application/vnd.cncf.helm.config.v1+json' } },
      'is not a container image',
    ],
    ['schema 1', { schemaVersion: 1 }, 'schema 1'],
    ['the signs of schema 1', { fsLayers: [] }, 'schema 1'],
    ['images as well as layers', { manifests: [] }, 'in two ways'],
    ['another type inside than outside', { mediaType: `${oci}.index.v1+json` }, 'in two ways'],
    ['no layers', { layers: [] }, 'cannot be parsed'],
    [
      'layers without end',
      { layers: new Array(1000).fill({ ...one, mediaType: `${oci}.layer.v1.tar` }) },
      'cannot be parsed',
    ],
    ['layers of 100 TiB', { layers: [{ ...one, size: 1e14, mediaType: `${oci}.layer.v1.tar` }] }, 'at most'],
    [
      'a configuration of 100 TiB',
      { config: { ...one, size: 1e14, mediaType: `${oci}.config.v1+json` } },
      'configuration has',
    ],
  ])('an image with %s is not supported', async (_what, change, message) => {
    const image = await tinyImage(change)
    await using registry = await startBadRegistry(image)
    const { result } = await pull({ 'registry.test': registry })
    expect(result).toMatchObject({ code: 'image_unsupported', message: expect.stringContaining(message) })
    expect(registry.requests.some(({ line }) => line.includes(image.layerDigest))).toBe(false)
  })

  test('an image of another platform is refused before a layer is fetched', async () => {
    const image = await tinyImage({}, { architecture: 's390x' })
    await using registry = await startBadRegistry(image)
    const { result } = await pull({ 'registry.test': registry })
    expect(result).toMatchObject({ code: 'image_unsupported', message: expect.stringContaining('s390x') })
    expect(registry.requests.some(({ line }) => line.includes(image.layerDigest))).toBe(false)
  })

  test('a registry without HEAD is asked with GET', async () => {
    const image = await tinyImage()
    const behave = atFirst(
      always,
      ({ method }) => method === 'HEAD',
      (_, response) => response.writeHead(405).end(),
    )
    await using registry = await startBadRegistry(image, behave)
    expect((await pull({ 'registry.test': registry })).result).toMatchObject({ digest: image.digest })
  })

  test('an abort ends a hanging pull', async () => {
    const image = await tinyImage()
    const controller = new AbortController()
    const behave = atFirst(
      always,
      (request) => isForLayer(image, request),
      () => controller.abort(new Error('enough')),
    )
    await using registry = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry }, { signal: controller.signal })
    expect((result as Error).message).toBe('enough')
  })
})

describe('a registry that asks who comes', () => {
  const basic = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
  const asking =
    (challenge: string, accepted: string): Behaviour =>
    (request, response, honestly) =>
      request.headers.authorization === accepted
        ? honestly()
        : response.writeHead(401, { 'www-authenticate': challenge }).end()
  const realm = 'Bearer realm="https://auth.test/token?a=b",service="registry.test",scope="repository:team/app:pull"'

  test('gets a token of its realm, with and without credentials', async () => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image, asking(realm, 'Bearer of-course'))
    await using auth = await startBadRegistry(image, (_, response) => response.end('{"access_token": "of-course"}'))
    for (const given of [login, null]) {
      const { result } = await pull({ 'registry.test': registry, 'auth.test': auth }, { auth: given })
      expect(result).toMatchObject({ digest: image.digest })
      expect(auth.requests.at(-1)).toMatchObject({
        line: 'GET /token?a=b&service=registry.test&scope=repository%3Ateam%2Fapp%3Apull',
      })
      expect(auth.requests.at(-1)?.headers.authorization).toBe(given === null ? undefined : basic)
    }
    expect(registry.requests.some(({ headers }) => headers.authorization === basic)).toBe(false)
  })

  test.each<[string, Record<string, string>]>([
    ['name and password', { challenge: 'Basic realm="registry"', accepted: basic }],
    ['a token', { challenge: realm, accepted: 'Bearer of-course' }],
  ])('gets %s, and where it redirects to does not', async (_what, { challenge = '', accepted = '' }) => {
    const image = await tinyImage()
    await using store = await startBadRegistry(image)
    await using auth = await startBadRegistry(image, (_, response) => response.end('{"token": "of-course"}'))
    const ask = asking(challenge, accepted)
    await using registry = await startBadRegistry(image, (request, response, honestly) =>
      ask(request, response, () =>
        isForLayer(image, request)
          ? response.writeHead(307, { location: `https://store.test${request.url}` }).end()
          : honestly(),
      ),
    )
    const hosts = { 'registry.test': registry, 'auth.test': auth, 'store.test': store }
    expect((await pull(hosts, { auth: login })).result).toMatchObject({ digest: image.digest })
    expect(store.requests.map(({ headers }) => headers.authorization)).toEqual([undefined])
    expect(JSON.stringify(store.requests)).not.toContain('of-course')
  })

  test.each([
    ['is down', 'Bearer realm="https://nowhere.test/token"', /nowhere.test does not exist/],
    ['is the metadata address', 'Bearer realm="https://169.254.169.254/token"', /not public/],
    ['is the metadata address without TLS', 'Bearer realm="http://169.254.169.254/token"', /without TLS/],
    ['is loopback', 'Bearer realm="https://127.0.0.1:22/"', /not public/],
    ['is no address', 'Bearer realm="nothing"', /no realm/],
    ['is a file', 'Bearer realm="file:///etc/passwd"', /not HTTP/],
    ['answers nonsense', 'Bearer realm="https://registry.test/nonsense"', /without a valid token/],
    ['answers too much', 'Bearer realm="https://registry.test/flood"', /more than/],
    ['answers a header of its own', 'Bearer realm="https://registry.test/split"', /without a valid token/],
    ['wants something that nobody knows', 'Negotiate', /without credentials|these credentials/],
    ['says nothing', '', /without credentials|these credentials/],
  ])('a realm that %s gives an error with the reason', async (_what, challenge, message) => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image, (request, response) => {
      if (request.url?.startsWith('/nonsense') === true) return void response.end('not JSON')
      if (request.url?.startsWith('/flood') === true) return void response.end(Buffer.alloc(2 ** 20, ' '))
      if (request.url?.startsWith('/split') === true) return void response.end('{"token": "a\\r\\nb: c"}')
      response.writeHead(401, challenge === '' ? {} : { 'www-authenticate': challenge }).end()
    })
    const { result } = await pull({ 'registry.test': registry }, { auth: login })
    const { code, stack = '' } = result as BuildError
    expect([code, (result as BuildError).message]).toEqual([
      expect.stringMatching(/^image_(pull_failed|unsupported)$/),
      expect.stringMatching(message),
    ])
    expect(stack).not.toContain(login.password)
  })

  test('gets credentials only for its own host', async () => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image, asking('Basic realm="a"', basic))
    const auth = { ...login, registry: 'other.test' }
    const { result } = await pull({ 'registry.test': registry }, { auth })
    expect(result).toMatchObject({ code: 'image_pull_failed' })
    expect(registry.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true)
  })
})

describe('mirrors', () => {
  const settings = (port: number): RegistrySettings => ({
    mirrors: [{ registry: 'registry.test', url: `http://127.0.0.1:${port}/copy` }],
    insecure: [],
  })

  test('a mirror that asks for credentials gets none, and the registry is used instead', async () => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image)
    await using mirror = await startBadRegistry(image, (_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Basic realm="mirror"' }).end(),
    )
    const { result } = await pull({ 'registry.test': registry }, { auth: login, settings: settings(mirror.port) })
    expect(result).toMatchObject({ digest: image.digest })
    expect(mirror.requests[0]?.line).toBe('HEAD /v2/copy/team/app/manifests/1')
    expect(mirror.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true)
  })

  test.each<[string, Behaviour]>([
    ['damages a layer', (_, response) => response.writeHead(200).end(Buffer.alloc(100, 7))],
    ['has lost a layer', (_, response) => response.writeHead(404).end()],
    [
      'breaks a layer off',
      (_, response) => {
        response.writeHead(200)
        response.write('x', () => response.destroy())
      },
    ],
  ])('if a mirror %s, the registry itself is used', async (_what, otherwise) => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image)
    const behave = atFirst(always, (request) => isForLayer(image, request), otherwise)
    await using mirror = await startBadRegistry(image, behave)
    const { result } = await pull({ 'registry.test': registry }, { settings: settings(mirror.port) })
    expect(result).toMatchObject({ digest: image.digest })
    expect(registry.requests.map(({ line }) => line)).toEqual([`GET /v2/team/app/blobs/${image.layerDigest}`])
  })

  test('if a mirror breaks off several layers at once, the registry itself is used', async () => {
    const image = await tinyImage({}, { layers: 4 })
    await using registry = await startBadRegistry(image)
    const isForBlob = ({ url }: { readonly url?: string | undefined }) =>
      url?.includes('/blobs/') === true && !url.endsWith(configOf(image))
    await using mirror = await startBadRegistry(
      image,
      atFirst(always, isForBlob, (_, response) => {
        response.writeHead(200)
        response.write('x', () => response.destroy())
      }),
    )
    const { result } = await pull({ 'registry.test': registry }, { settings: settings(mirror.port) })
    expect(result).toMatchObject({ digest: image.digest })
    expect(registry.requests).toHaveLength(4)
  })

  test('a redirect leads only to addresses that the operator allows', async () => {
    const image = await tinyImage()
    await using registry = await startBadRegistry(image)
    await using inside = await startBadRegistry(image)
    await using mirror = await startBadRegistry(image, (_, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    )
    const { result } = await pull({ 'registry.test': registry }, { settings: settings(mirror.port) })
    expect(result).toMatchObject({ digest: image.digest })
    expect(inside.requests).toEqual([])
  })
})
