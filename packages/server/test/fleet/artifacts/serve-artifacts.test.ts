import { buffer } from 'node:stream/consumers'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import {
  artifactPath,
  parseArtifactPath,
  parseDescription,
  parseRange,
} from '../../../src/fleet/artifacts/artifact-wire.ts'
import { FetchMetrics } from '../../../src/fleet/artifacts/fetch-metrics.ts'
import { PeerSource } from '../../../src/fleet/artifacts/peer-source.ts'
import { rankPeers } from '../../../src/fleet/artifacts/rank-peers.ts'
import { ArtifactServer, type ServeOptions } from '../../../src/fleet/artifacts/serve-artifacts.ts'
import { engineWithImage, fetcherTo, takeCheckpoint, transferOf } from '../../support/artifact-sources.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { linksOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'

const MIB = 2 ** 20

/** Starts a host with an image, and the links of another one. */
async function startServing(bytes: number, more: Partial<ServeOptions> = {}) {
  const { engine, content, ref } = await engineWithImage(bytes)
  const registry = new Registry()
  const { log } = keepingLog()
  const server = new ArtifactServer({ engine, log, metrics: new FetchMetrics(registry), ...more })
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const { hostId } = await startListener(authority, directory, (asked) => server.answer(asked))
  const links = await linksOf(authority, directory)
  return { engine, content, ref, registry, hostId, links, source: new PeerSource(links, hostId) }
}

test('an image and a checkpoint come from another host', async () => {
  const { engine, content, ref, source, registry } = await startServing(21 * MIB + 5)
  const checkpoint = await takeCheckpoint(engine, ref.id)
  const target = new FakeEngine()
  const { fetcher } = fetcherTo(target, [source])
  await fetcher.fetch(ref, {}, never)
  const range = { offset: 0, length: content.length }
  const arrived = await buffer(await transferOf(target).read(ref, 'image', range, never))
  expect(arrived.equals(content)).toBe(true)
  expect(await source.describe(checkpoint, never)).toEqual(await transferOf(engine).describe(checkpoint))
  // A slow source is asked for a range again, and gives more than once.
  const [, sent] = /^holt_fleet_artifact_sent_bytes_total (\d+)$/m.exec(await registry.metrics()) ?? []
  expect(Number(sent)).toBeGreaterThanOrEqual(content.length)
})

test('a part of a file comes alone, and what is not there is refused', async () => {
  const { content, ref, hostId, links } = await startServing(100_000)
  const path = artifactPath(ref, 'image')
  const get = async (asked: string, range?: string) => {
    const headers = range === undefined ? {} : { range }
    const { status, body } = await links.get(hostId, 'bytes', { path: asked, headers, signal: never })
    return { status, body: await buffer(body) }
  }
  const part = await get(path, 'bytes=10-19')
  expect([part.status, part.body.equals(content.subarray(10, 20))]).toEqual([206, true])
  for (const range of [undefined, 'bytes=10-', 'bytes=99990-100000', 'bytes=5-4', 'bytes=0-1,2-3'])
    expect((await get(path, range)).status, range).toBe(416)
  const none = `sha256:${'0'.repeat(64)}` as const
  const missing = [artifactPath({ kind: 'image', id: none }), artifactPath(ref, 'base'), '/', '/peer/artifact/image/x']
  for (const asked of missing) expect((await get(asked, 'bytes=0-1')).status, asked).toBe(404)
})

test('more ranges than a host sends at once are refused, and served later', async () => {
  const { ref, hostId, links, source } = await startServing(8 * MIB, { atOnce: 2 })
  const range = { range: `bytes=0-${8 * MIB - 1}` }
  const get = (signal: AbortSignal) =>
    links.get(hostId, 'bytes', { path: artifactPath(ref, 'image'), headers: range, signal })
  const left = new AbortController()
  // Nothing reads these, so they stay open.
  const held = await Promise.all([get(left.signal), get(left.signal)])
  expect(held.map(({ status }) => status)).toEqual([206, 206])
  expect((await get(never)).status).toBe(503)
  left.abort()
  await vi.waitUntil(async () => (await get(AbortSignal.timeout(1_000))).status === 206, { timeout: 20_000 })
  const target = new FakeEngine()
  await vi.waitUntil(
    () =>
      fetcherTo(target, [source])
        .fetcher.fetch(ref, {}, never)
        .then(
          () => true,
          () => false,
        ),
    { timeout: 20_000 },
  )
})

test('a host that breaks off is followed by the next one', async () => {
  const { ref, hostId, links, source, engine } = await startServing(9 * MIB)
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const breaking = await startListener(authority, directory, async ({ stream, headers }) => {
    const range = parseRange(headers.range)
    if (range === null) {
      stream.respond({ ':status': 200 })
      stream.end(JSON.stringify(await transferOf(engine).describe(ref)))
      return
    }
    stream.respond({ ':status': 206 })
    for await (const piece of await transferOf(engine).read(ref, 'image', { ...range, length: MIB }, never))
      stream.write(piece)
    stream.close()
  })
  const first = new PeerSource(await linksOf(authority, directory), breaking.hostId)
  const { fetcher, logged } = fetcherTo(new FakeEngine(), [first, source])
  await fetcher.fetch(ref, {}, never)
  expect(logged).toContainEqual(expect.objectContaining({ message: 'a source of an artifact failed' }))
  expect(links.size).toBeGreaterThan(0)
  expect(hostId).not.toBe(breaking.hostId)
})

test('paths, ranges and descriptions have one form', async () => {
  const ref = { kind: 'image', id: `sha256:${'a'.repeat(64)}` } as const
  expect(parseArtifactPath(artifactPath(ref))).toEqual({ ref, file: null })
  expect(parseArtifactPath(artifactPath(ref, 'a file/'))).toBeNull()
  expect(parseArtifactPath(artifactPath({ kind: 'checkpoint', id: 'cp1' }, 'pages.img'))).toEqual({
    ref: { kind: 'checkpoint', id: 'cp1' },
    file: 'pages.img',
  })
  for (const path of ['/peer/artifact/checkpoint/..', '/peer/artifact/other/x', '/peer/artifact/image/%', '/v1/host'])
    expect(parseArtifactPath(path), path).toBeNull()
  const { engine, ref: made } = await engineWithImage(10)
  const description = await transferOf(engine).describe(made)
  expect(parseDescription(JSON.stringify(description))).toEqual(description)
  for (const text of ['', '{}', '[]', JSON.stringify({ ...description, more: 1 })])
    expect(parseDescription(text), text).toBeNull()
})

test('three homes of an artifact are asked, and the host near it', () => {
  const hosts = Array.from({ length: 20 }, (_, at) => `host${at}`)
  const asked = (id: string, near: string | null) => rankPeers({ kind: 'checkpoint', id }, near, hosts)
  const homes = asked('one', null)
  expect(homes).toHaveLength(3)
  const near = hosts.find((host) => !homes.includes(host)) ?? ''
  expect(asked('one', near)).toEqual([...homes, near])
  expect(asked('one', homes[0] ?? '')).toEqual(homes)
  expect(asked('one', 'gone')).toEqual(homes)
  expect(new Set(hosts.flatMap((_, at) => asked(`id${at}`, null))).size).toBeGreaterThan(10)
})
