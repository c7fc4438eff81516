import { randomBytes } from 'node:crypto'
import { SmallS3 } from '@holt/testkit/small-s3'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ObjectStore, openObjectStore } from '../src/index.ts'
import { bytesOf, digestOf, inPieces, keysOf, storeConformance, testPartBytes } from './support/store-conformance.ts'

const quick = { attempts: 8, withinMs: 20_000, firstPauseMs: 1, longestPauseMs: 20 }

function storeOf(s3: SmallS3, prefix = '', silenceMs = 20_000): ObjectStore {
  return openObjectStore(s3.urlOf(prefix), { env: s3.env, retries: quick, partBytes: testPartBytes, silenceMs })
}

storeConformance('a small S3', async () => {
  const s3 = await SmallS3.start()
  const store = storeOf(s3, 'below/a-prefix')
  return { store, [Symbol.asyncDispose]: () => s3[Symbol.asyncDispose]() }
})

let s3: SmallS3
let store: ObjectStore
const large = randomBytes(3 * testPartBytes + 1)

beforeAll(async () => {
  s3 = await SmallS3.start()
  store = storeOf(s3)
})
afterEach(() => s3.heal())
afterAll(() => s3[Symbol.asyncDispose]())

test('writes and reads although every second request gets 503', async () => {
  s3.faults.unavailable = 0.5
  const patient = openObjectStore(s3.url, { env: s3.env, retries: { ...quick, attempts: 40 } })
  await patient.put('half', inPieces(large))
  expect(digestOf(await bytesOf((await patient.get('half')).body))).toBe(digestOf(large))
  expect(await keysOf(patient, 'half')).toEqual(['half'])
})

test('continues a read at the byte where the connection broke', async () => {
  await store.put('cut', large)
  s3.faults.breaksAfterBytes = 4 * 2 ** 20
  const { body } = await store.get('cut')
  expect(digestOf(await bytesOf(body))).toBe(digestOf(large))
  expect(s3.requests.filter((request) => request === 'GET /bucket/cut').length).toBeGreaterThan(3)
})

test('says that an object was replaced while it was read', async () => {
  await store.put('swapped', large)
  s3.faults.breaksAfterBytes = 2 ** 20
  const { body } = await store.get('swapped')
  const iterator = body[Symbol.asyncIterator]()
  await iterator.next()
  s3.bucket.put('swapped', randomBytes(large.length), {})
  const rest = bytesOf({ [Symbol.asyncIterator]: () => iterator })
  await expect(rest).rejects.toMatchObject({ kind: 'damaged', message: expect.stringContaining('replaced') })
})

test.each([
  ['a small object', 100],
  ['an object in parts', large.length],
])('notices one flipped bit of %s that is read', async (_, size) => {
  await store.put('flipped', large.subarray(0, size))
  s3.faults.flipsBit = true
  await expect(bytesOf((await store.get('flipped')).body)).rejects.toMatchObject({ kind: 'damaged' })
})

test('notices one flipped bit on the way to the store', async () => {
  s3.faults.flipsBitOfBodies = true
  await expect(store.put('flipped-up', Buffer.from('content'))).rejects.toMatchObject({ kind: 'damaged' })
  expect(s3.bucket.objects.has('flipped-up')).toBe(false)
})

test.each([
  ['a small object', 100],
  ['an object in parts', large.length],
])('knows its own %s when the answers to it were lost', async (_, size) => {
  s3.faults.lostAnswers = 3
  await store.put(`lost/${size}`, large.subarray(0, size), { ifAbsent: true })
  expect(s3.bucket.objects.get(`lost/${size}`)?.bytes.length).toBe(size)
  await expect(store.put(`lost/${size}`, Buffer.alloc(1), { ifAbsent: true })).rejects.toMatchObject({
    kind: 'precondition_failed',
  })
})

test('gives up on a store that refuses connections', async () => {
  s3.faults.refuses = true
  await expect(store.put('refused', Buffer.alloc(1))).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(store.get('refused')).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(store.head('refused')).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(keysOf(store, '')).rejects.toMatchObject({ kind: 'unavailable' })
})

test('gives up on a store that is silent, and on one that is far too slow', async () => {
  const impatient = storeOf(s3, '', 150)
  await impatient.put('slow', large)
  s3.faults.silent = true
  await expect(impatient.head('slow')).rejects.toMatchObject({ kind: 'unavailable' })
  s3.heal()
  s3.faults.bytesPerSecond = 20
  await expect(bytesOf((await impatient.get('slow')).body)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('waits for a slow reader, and reads no further than it', async () => {
  const impatient = storeOf(s3, '', 300)
  await impatient.put('patient', large)
  const { body } = await impatient.get('patient')
  let length = 0
  for await (const piece of body) {
    if (length === 0) await new Promise((resolve) => setTimeout(resolve, 1000))
    length += piece.length
  }
  expect(length).toBe(large.length)
})

test('reads no more of a source than the parts in flight', async () => {
  s3.bucket.uploads.clear()
  let read = 0
  const source = (async function* () {
    for (;;) {
      read += 2 ** 20
      yield randomBytes(2 ** 20)
    }
  })()
  const stop = new AbortController()
  const writing = store.put('endless', source, { signal: stop.signal })
  await expect.poll(() => s3.bucket.uploads.size).toBe(1)
  s3.faults.silent = true
  await expect.poll(() => read, { timeout: 20_000 }).toBeGreaterThan(3 * testPartBytes)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const whileSilent = read
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(read).toBe(whileSilent)
  stop.abort(new Error('enough'))
  await expect(writing).rejects.toThrow('enough')
}, 60_000)

test('removes the parts of an upload whose source failed, and those of earlier processes', async () => {
  const broken = (async function* () {
    yield large
    throw new Error('broken')
  })()
  s3.bucket.uploads.clear()
  await expect(store.put('parts', broken)).rejects.toThrow('broken')
  expect(s3.bucket.uploads.size).toBe(0)
  s3.bucket.begin('left-behind', {})
  await store.removeUnfinished(new Date(Date.now() - 60_000))
  expect(s3.bucket.uploads.size).toBe(1)
  await store.removeUnfinished(new Date(Date.now() + 60_000))
  expect(s3.bucket.uploads.size).toBe(0)
})

test('follows the clock of a store that is an hour ahead', async () => {
  s3.faults.clockAheadMs = 3_600_000
  await storeOf(s3).put('tomorrow', Buffer.alloc(1))
})

test('names the reason of a refusal, without credentials', async () => {
  const stranger = openObjectStore(s3.url, {
    env: { AWS_ACCESS_KEY_ID: 'stranger', AWS_SECRET_ACCESS_KEY: 'a-secret-key' },
  })
  const error: unknown = await stranger.put('a', Buffer.alloc(1)).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ kind: 'refused', message: expect.stringContaining('AccessDenied') })
  expect(JSON.stringify([error, String(error)])).not.toContain('a-secret-key')
  const elsewhere = openObjectStore(s3.url.replace('bucket', 'no-bucket'), { env: s3.env })
  await expect(elsewhere.put('a', Buffer.alloc(1))).rejects.toMatchObject({ kind: 'refused' })
})
