import { buffer } from 'node:stream/consumers'
import { type ByteRange, descriptionDigest, EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArtifactUnavailable } from '../../../src/fleet/artifacts/artifact-source.ts'
import { StoreSource } from '../../../src/fleet/artifacts/store-source.ts'
import {
  type Behaviour,
  engineWithImage,
  fetcherTo,
  sourceOf,
  takeCheckpoint,
  transferOf,
} from '../../support/artifact-sources.ts'
import { never } from '../../support/test-hosts.ts'

/** The behaviours of which one source is enough. */
const sufficient: readonly Behaviour[] = ['honest', 'slow', 'busy at first', 'cuts often']
const others: readonly Behaviour[] = [
  'absent',
  'unreachable',
  'cuts always',
  'stalls',
  'lies in bytes',
  'lies in sizes',
  'lies in digests',
  'sends more',
]

test('an artifact arrives whole if one source has it, and else not at all', { timeout: 120_000 }, async () => {
  const { engine, content, ref } = await engineWithImage(300_000)
  const behaviour = fc.constantFrom(...sufficient, ...others)
  await fc.assert(
    fc.asyncProperty(fc.array(behaviour, { maxLength: 5 }), fc.boolean(), async (behaviours, hasStore) => {
      const sources = behaviours.map((each, at) =>
        sourceOf(engine, each, { type: hasStore && at === behaviours.length - 1 ? 'store' : 'peer' }),
      )
      const target = new FakeEngine()
      const { fetcher } = fetcherTo(target, sources)
      const fetched = await fetcher.fetch(ref, {}, never).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof EngineError || error instanceof ArtifactUnavailable)) throw error
          return false
        },
      )
      // A wrong description of the store is believed, so nothing can be expected then.
      const storeLies = hasStore && ['lies in sizes', 'lies in digests'].includes(behaviours.at(-1) ?? '')
      if (behaviours.some((each) => sufficient.includes(each))) expect(fetched || storeLies).toBe(true)
      expect(await target.ability('images')?.has(ref.id)).toBe(fetched)
      if (!fetched) return
      const range = { offset: 0, length: content.length }
      const arrived = await buffer(await transferOf(target).read(ref, 'image', range, never))
      expect(arrived.equals(content)).toBe(true)
    }),
    { numRuns: 60, interruptAfterTimeLimit: 60_000 },
  )
})

test('a read that is cut continues at the same byte at the next source', async () => {
  const { engine, ref } = await engineWithImage(200_000)
  const [first, second] = [sourceOf(engine, 'cuts often'), sourceOf(engine, 'honest')]
  const { fetcher } = fetcherTo(new FakeEngine(), [first, second])
  await fetcher.fetch(ref, {}, never)
  expect([first.reads, second.reads]).toEqual([[0], [60_000]])
})

test('sources are asked in their order, and one that is not needed is not asked', async () => {
  const { engine, ref } = await engineWithImage(1_000)
  const sources = (['absent', 'honest', 'honest'] as const).map((each) => sourceOf(engine, each))
  const { fetcher, registry } = fetcherTo(new FakeEngine(), sources)
  await fetcher.fetch(ref, {}, never)
  expect(sources.map(({ reads }) => reads.length)).toEqual([0, 1, 0])
  await fetcher.fetch(ref, {}, never)
  expect(sources.map(({ reads }) => reads.length)).toEqual([0, 1, 0])
  const text = await registry.metrics()
  expect(text).toContain('holt_fleet_artifact_fetches_total{kind="image",outcome="fetched"} 1')
  expect(text).toContain('holt_fleet_artifact_received_bytes_total{source="peer"} 1000')
  expect(text).toContain('holt_fleet_artifact_missing_bytes 0')
})

test('a description of a checkpoint is believed from the store, or with its digest', async () => {
  const { engine, ref } = await engineWithImage(1_000)
  const other = await takeCheckpoint(engine, ref.id)
  const peer = sourceOf(engine, 'honest')
  const alone = fetcherTo(new FakeEngine(), [peer])
  await expect(alone.fetcher.fetch(other, {}, never)).rejects.toThrow(ArtifactUnavailable)
  await expect(alone.fetcher.fetch(other, { digest: `sha256:${'0'.repeat(64)}` }, never)).rejects.toThrow(
    ArtifactUnavailable,
  )
  expect(peer.reads).toEqual([])
  const digest = descriptionDigest(await transferOf(engine).describe(other))
  await alone.fetcher.fetch(other, { digest }, never)
  const target = new FakeEngine()
  const store = sourceOf(engine, 'honest', { type: 'store' })
  await fetcherTo(target, [peer, store]).fetcher.fetch(other, {}, never)
  expect(store.reads).toEqual([])
  expect(await target.ability('checkpoints')?.usable(other.id)).toEqual({ usable: true })
})

test('the object store gives what no host has, in ranges', async () => {
  const { engine, content, ref } = await engineWithImage(9 * 2 ** 20)
  const ranges: ByteRange[] = []
  const store = new StoreSource({
    open: async (asked) => {
      if (asked.id !== ref.id) return null
      const description = await transferOf(engine).describe(ref)
      return {
        description,
        read: async function* (file, range, signal) {
          ranges.push(range)
          yield* await transferOf(engine).read(ref, file.name, range, signal)
        },
      }
    },
  })
  const target = new FakeEngine()
  const { fetcher, registry } = fetcherTo(target, [sourceOf(engine, 'absent'), store])
  await fetcher.fetch(ref, {}, never)
  expect(ranges.map(({ length }) => length / 2 ** 20)).toEqual([4, 4, 1])
  expect(await target.ability('images')?.has(ref.id)).toBe(true)
  expect(await registry.metrics()).toContain(`received_bytes_total{source="store"} ${content.length}`)
  const other = { kind: 'checkpoint', id: 'cp' } as const
  await expect(fetcher.fetch(other, {}, never)).rejects.toThrow(ArtifactUnavailable)
})

test('concurrent calls share one fetch, and a caller that leaves does not end it', async () => {
  const { engine, ref } = await engineWithImage(200_000)
  const source = sourceOf(engine, 'slow')
  const { fetcher } = fetcherTo(new FakeEngine(), [source])
  const leaving = new AbortController()
  const calls = [leaving.signal, never, never].map((signal) => fetcher.fetch(ref, {}, signal))
  await new Promise((resolve) => setTimeout(resolve, 5))
  leaving.abort(new Error('left'))
  await expect(calls[0]).rejects.toThrow('left')
  await Promise.all(calls.slice(1))
  expect(source.reads).toEqual([0])
})

test('a fetch that everybody has left ends, and the next caller begins a new one', async () => {
  const { engine, ref } = await engineWithImage(200_000)
  const source = sourceOf(engine, 'slow')
  const { fetcher, registry } = fetcherTo(new FakeEngine(), [source])
  const leaving = new AbortController()
  const calls = [1, 2].map(() => fetcher.fetch(ref, {}, leaving.signal))
  await expect.poll(() => source.reads, { timeout: 20_000 }).toEqual([0])
  leaving.abort(new Error('left'))
  for (const call of calls) await expect(call).rejects.toThrow('left')
  await fetcher.fetch(ref, {}, never)
  expect(source.reads).toEqual([0, 0])
  expect(await registry.metrics()).toContain('outcome="left"} 1')
})

test('a disk without room, and a checkpoint of another class, are told as the engine tells them', async () => {
  const { engine, ref } = await engineWithImage(1_000)
  const full = new FakeEngine({
    before: (verb) => {
      if (verb === 'receive') throw new EngineError('no_space', 'no room')
    },
  })
  const source = sourceOf(engine, 'honest')
  await expect(fetcherTo(full, [source]).fetcher.fetch(ref, {}, never)).rejects.toMatchObject({ kind: 'no_space' })
  const checkpoint = await takeCheckpoint(engine, ref.id)
  const digest = descriptionDigest(await transferOf(engine).describe(checkpoint))
  const foreign = fetcherTo(new FakeEngine({ classId: 'another' }), [source])
  await expect(foreign.fetcher.fetch(checkpoint, { digest }, never)).rejects.toMatchObject({ kind: 'incompatible' })
})
