import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ObjectStore } from '../../src/index.ts'

/** An empty store, and what ends it. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: ObjectStore
}

/** The size of parts in these tests: the least that S3 takes. */
export const testPartBytes = 5 * 2 ** 20

/** Registers the tests that every store passes. */
export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest
    const store = () => under.store
    beforeAll(async () => {
      under = await open()
    })
    afterAll(() => under[Symbol.asyncDispose]())
    writes(store)
    reads(store)
    lists(store)
  })
}

function writes(store: () => ObjectStore): void {
  test.each([
    ['no bytes', 0],
    ['one byte', 1],
    ['exactly one part', testPartBytes],
    ['one byte more than a part', testPartBytes + 1],
    ['several parts', 3 * testPartBytes + 12_345],
  ])('keeps %s', async (label, size) => {
    const bytes = randomBytes(size)
    const key = `kept/${label.replaceAll(' ', '-')}`
    await store().put(key, inPieces(bytes))
    const { sizeBytes, body } = await store().get(key)
    expect(sizeBytes).toBe(size)
    expect(digestOf(await bytesOf(body))).toBe(digestOf(bytes))
    expect(await store().head(key)).toMatchObject({ sizeBytes: size, modifiedAt: expect.any(Date) })
  })

  test('replaces an object', async () => {
    await store().put('replaced', Buffer.from('old'))
    await store().put('replaced', Buffer.from('new one'))
    expect(await textOf(store(), 'replaced')).toBe('new one')
  })

  test.each([
    ['a small object', 10],
    ['an object in parts', testPartBytes + 10],
  ])('lets one of several writers create %s', async (label, size) => {
    const key = `once/${size}`
    const bodies = Array.from({ length: label === 'a small object' ? 8 : 3 }, () => randomBytes(size))
    const results = await Promise.allSettled(bodies.map((body) => store().put(key, body, { ifAbsent: true })))
    const winners = bodies.filter((_, at) => results[at]?.status === 'fulfilled')
    const losers = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(winners).toHaveLength(1)
    for (const reason of losers) expect(reason).toMatchObject({ kind: 'precondition_failed' })
    expect(digestOf(await bytesOf((await store().get(key)).body))).toBe(digestOf(winners[0] ?? Buffer.alloc(0)))
  })

  test('leaves nothing of a body that fails', async () => {
    const broken = (async function* () {
      yield randomBytes(testPartBytes + 10)
      throw new Error('the source broke')
    })()
    await expect(store().put('broken/object', broken)).rejects.toThrow('the source broke')
    expect(await store().head('broken/object')).toBeNull()
    expect(await keysOf(store(), 'broken/')).toEqual([])
  })

  test('stops with the reason of its signal', async () => {
    const stop = new AbortController()
    const endless = (async function* () {
      for (let sent = 0; ; sent += 1) {
        if (sent === 20) stop.abort(new Error('enough'))
        yield randomBytes(2 ** 20)
      }
    })()
    await expect(store().put('aborted/object', endless, { signal: stop.signal })).rejects.toThrow('enough')
    expect(await store().head('aborted/object')).toBeNull()
  })

  test('deletes an object, and a missing one', async () => {
    await store().put('deleted/one', Buffer.from('x'))
    await store().delete('deleted/one')
    await store().delete('deleted/one')
    expect(await store().head('deleted/one')).toBeNull()
    await store().put('deleted/one', Buffer.from('again'))
    expect(await textOf(store(), 'deleted/one')).toBe('again')
  })

  test('keeps objects that are written while their neighbours are deleted', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        await store().put(`busy/deep/${at}`, Buffer.from(`${at}`))
        if (at % 2 === 0) await store().delete(`busy/deep/${at}`)
      }),
    )
    expect(await keysOf(store(), 'busy/')).toHaveLength(10)
  })

  test.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', '.hidden', 'a b', 'ä', 'a/.unfinished', 'x'.repeat(600)])(
    'refuses the key %j',
    async (key) => {
      await expect(store().put(key, Buffer.alloc(0))).rejects.toMatchObject({ kind: 'invalid' })
      await expect(store().get(key)).rejects.toMatchObject({ kind: 'invalid' })
    },
  )
}

function reads(store: () => ObjectStore): void {
  test('knows that an object is missing', async () => {
    await expect(store().get('missing')).rejects.toMatchObject({ kind: 'not_found' })
    expect(await store().head('missing')).toBeNull()
  })

  test('reads ranges, also across parts', async () => {
    const bytes = randomBytes(2 * testPartBytes + 100)
    await store().put('ranged', bytes)
    const ranges = [
      [0, 1],
      [0, bytes.length],
      [testPartBytes - 5, testPartBytes + 5],
      [bytes.length - 1, bytes.length],
      [7, 7],
    ] as const
    for (const [start, end] of ranges) {
      const { sizeBytes, body } = await store().get('ranged', { range: { start, end } })
      expect(sizeBytes).toBe(bytes.length)
      expect(digestOf(await bytesOf(body))).toBe(digestOf(bytes.subarray(start, end)))
    }
    for (const range of [
      { start: bytes.length - 1, end: bytes.length + 1 },
      { start: bytes.length + 1, end: bytes.length + 2 },
      { start: 5, end: 4 },
    ])
      await expect(store().get('ranged', { range })).rejects.toMatchObject({ kind: 'invalid' })
  })

  test('stops early without reading the rest', async () => {
    await store().put('early', randomBytes(testPartBytes))
    for (let round = 0; round < 20; round += 1) {
      const { body } = await store().get('early')
      for await (const piece of body) {
        expect(piece.length).toBeGreaterThan(0)
        break
      }
    }
  })

  test('stops reading with the reason of its signal', async () => {
    await store().put('stopped', randomBytes(testPartBytes))
    const stop = new AbortController()
    const { body } = await store().get('stopped', { signal: stop.signal })
    const reading = (async () => {
      for await (const _ of body) stop.abort(new Error('read enough'))
    })()
    await expect(reading).rejects.toThrow('read enough')
  })
}

function lists(store: () => ObjectStore): void {
  test('lists the objects of a prefix, over pages', async () => {
    const keys = Array.from({ length: 23 }, (_, at) => `listed/${at % 3}/${at}`)
    await Promise.all(keys.map((key) => store().put(key, Buffer.from(key))))
    expect(await keysOf(store(), 'listed/')).toEqual(keys.toSorted())
    expect(await keysOf(store(), 'listed/1/')).toEqual(keys.filter((key) => key.startsWith('listed/1/')).toSorted())
    expect(await keysOf(store(), 'listed/1/1')).toEqual(keys.filter((key) => key.startsWith('listed/1/1')).toSorted())
    expect(await keysOf(store(), 'nothing/here')).toEqual([])
    for await (const { key, sizeBytes, modifiedAt } of store().list('listed/0/')) {
      expect(sizeBytes).toBe(key.length)
      expect(Math.abs(modifiedAt.getTime() - Date.now())).toBeLessThan(600_000)
    }
  })

  test('removes what writers left behind, and no object', async () => {
    await store().put('finished', Buffer.from('stays'))
    await store().removeUnfinished(new Date(Date.now() + 60_000))
    expect(await textOf(store(), 'finished')).toBe('stays')
  })
}

/** Returns the bytes in pieces of odd sizes. */
export async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += 100_003) yield bytes.subarray(at, at + 100_003)
}

/** Returns all bytes of a body. */
export async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Returns a digest that a failed comparison can show. */
export function digestOf(bytes: Uint8Array): string {
  return `${bytes.length}:${createHash('sha256').update(bytes).digest('hex')}`
}

async function textOf(store: ObjectStore, key: string): Promise<string> {
  return (await bytesOf((await store.get(key)).body)).toString()
}

/** Returns the keys of a prefix in order. */
export async function keysOf(store: ObjectStore, prefix: string): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys.toSorted()
}
