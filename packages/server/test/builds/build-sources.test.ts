import { spawnSync } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { PulledFacts } from '@holt/builder'
import { Dialer, type EgressSettings } from '@holt/egress'
import { issue, makeTestCa, startDnsServer } from '@holt/egress/testing'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { tinyImage } from '../../../builder/test/support/bad-registry.ts'
import { startCanary, startHttpsHost } from '../../../egress/test/support/hosts.ts'
import { makeBuildSources } from '../../src/builds/build-sources.ts'
import { makeRegistryNetwork } from '../../src/resources/network/registry-network.ts'

const isMissing = spawnSync('which', ['skopeo'], { stdio: 'ignore' }).status !== 0
const options = () => ({ auth: null, onProgress: () => undefined, signal: AbortSignal.timeout(25_000) })

/**
 * The sources of builds, with `registry.example.com` and `*.inside.example.com` set by the test.
 */
async function sourcesOf(onRequest: RequestListener, change: Partial<EgressSettings> = {}) {
  const ca = await makeTestCa()
  const owned = new AsyncDisposableStack()
  const host = owned.use(await startHttpsHost(await issue(ca, 'registry.example.com'), onRequest))
  const dns = owned.use(
    await startDnsServer({
      'loopback.example.com': { A: ['127.0.0.1'], AAAA: ['::1'] },
      'metadata.example.com': { A: ['169.254.169.254'] },
      'mapped.example.com': { AAAA: ['::ffff:127.0.0.1', '64:ff9b::7f00:1'] },
    }),
  )
  const overrides = [{ host: 'registry.example.com', port: 443, toHost: host.host, toPort: host.port }]
  const settings = {
    resolvers: [dns.address],
    allowedNetworks: [],
    overrides,
    extraCaPem: ca.certificatePem,
    ...change,
  }
  const network = makeRegistryNetwork(new Dialer(settings))
  const known = new Map<string, PulledFacts>()
  const pulled = {
    get: async (key: string) => known.get(key) ?? null,
    put: async (key: string, facts: PulledFacts) => void known.set(key, facts),
  }
  const sources = makeBuildSources({ network, registries: { mirrors: [], insecure: [] } })
  const made = sources({ engine: new FakeEngine(), workDir: '/var/tmp', pulled })
  return { ...made, host, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test.skipIf(isMissing)('an image is pulled over verified TLS, from the address that the operator set', async () => {
  const image = await tinyImage()
  await using sources = await sourcesOf(({ url = '', method }, response) => {
    const digest = /sha256:[0-9a-f]{64}$/.exec(url)?.[0] ?? ''
    const body = url.includes('/manifests/') ? image.manifest : image.blobs.get(digest)
    const type = 'application/vnd.oci.image.manifest.v1+json'
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type })
    response.end(method === 'HEAD' ? undefined : body)
  })
  const resolved = await sources.images.resolve('registry.example.com/team/app:1', options())
  expect(resolved.pinned).toBe(`registry.example.com/team/app@${image.digest}`)
  expect(await sources.images.ensure(resolved, options())).toMatchObject({ digest: image.digest })
})

test('a registry with an untrusted certificate gets no request', async () => {
  let requests = 0
  const count: RequestListener = (_, response) => {
    requests += 1
    response.end()
  }
  await using sources = await sourcesOf(count, { extraCaPem: null })
  await expect(sources.images.resolve('registry.example.com/team/app:1', options())).rejects.toMatchObject({
    code: 'image_pull_failed',
    message: expect.stringContaining('certificate'),
  })
  expect(requests).toBe(0)
})

const inside = [
  'https://127.0.0.1:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://2130706433:PORT/',
  'https://0x7f.1:PORT/',
  'https://loopback.example.com:PORT/',
  'https://mapped.example.com:PORT/',
  'https://metadata.example.com:PORT/',
  'https://169.254.169.254:PORT/',
  'http://169.254.169.254/latest/meta-data',
  'http://127.0.0.1:PORT/',
]

test.each(inside)('a realm, a redirect or ADD cannot reach %s', async (place) => {
  await using canary = await startCanary()
  const url = place.replace('PORT', String(canary.port))
  let answer: RequestListener = () => undefined
  await using sources = await sourcesOf((request, response) => answer(request, response))
  const reference = 'registry.example.com/team/app:1'
  answer = (_, response) => response.writeHead(401, { 'www-authenticate': `Bearer realm="${url}"` }).end()
  await expect(sources.images.resolve(reference, options())).rejects.toMatchObject({ code: 'image_pull_failed' })
  answer = (_, response) => response.writeHead(307, { location: url }).end()
  await expect(sources.images.resolve(reference, options())).rejects.toMatchObject({ code: 'image_pull_failed' })
  await expect(sources.fetch('https://registry.example.com/a', options().signal)).rejects.toMatchObject({
    code: 'step_failed',
  })
  await expect(sources.fetch(url, options().signal)).rejects.toMatchObject({ code: 'step_failed' })
  await expect(sources.images.resolve(`127.0.0.1:${canary.port}/a`, options())).rejects.toMatchObject({
    code: 'image_pull_failed',
  })
  expect(canary.connections).toBe(0)
})

test('a file is downloaded over verified TLS', async () => {
  await using sources = await sourcesOf((_, response) => response.end('content'))
  const file = await sources.fetch('https://registry.example.com/a.txt', options().signal)
  expect([file.name, (await buffer(file.body)).toString()]).toEqual(['a.txt', 'content'])
})
