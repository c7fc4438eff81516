import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openObjectStore } from '../src/index.ts'
import { keysOf, storeConformance } from './support/store-conformance.ts'

let root: string
const storeAt = (path: string) => openObjectStore(pathToFileURL(path).href)

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'holt-objects-'))
})
afterAll(() => rm(root, { recursive: true }))

storeConformance('a directory', async () => {
  const path = await mkdtemp(join(tmpdir(), 'holt-objects-'))
  return { store: storeAt(path), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
})

test('says that its directory is missing, and makes none', async () => {
  const store = storeAt(join(root, 'not-mounted'))
  await expect(store.put('a', Buffer.alloc(1))).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(store.get('a')).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(store.head('a')).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(store.delete('a')).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(keysOf(store, '')).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await readdir(root)).not.toContain('not-mounted')
})

test('leaves no empty directories', async () => {
  const path = await mkdtemp(join(root, 'empty-'))
  const store = storeAt(path)
  await store.put('a/b/c', Buffer.alloc(1))
  await store.put('a/d', Buffer.alloc(1))
  await store.delete('a/b/c')
  expect(await readdir(join(path, 'a'))).toEqual(['d'])
  await store.delete('a/d')
  expect(await readdir(path)).toEqual(['.unfinished'])
})

test('removes old unfinished files alone', async () => {
  const path = await mkdtemp(join(root, 'unfinished-'))
  const unfinished = join(path, '.unfinished')
  await mkdir(unfinished)
  for (const name of ['old', 'new']) await writeFile(join(unfinished, name), 'part')
  await utimes(join(unfinished, 'old'), new Date(0), new Date(0))
  await storeAt(path).removeUnfinished(new Date(Date.now() - 3_600_000))
  expect(await readdir(unfinished)).toEqual(['new'])
})

test('reads an object to its end although it is replaced', async () => {
  const store = storeAt(await mkdtemp(join(root, 'replaced-')))
  await store.put('a', Buffer.alloc(1_000_000, 1))
  const { body } = await store.get('a')
  await store.put('a', Buffer.alloc(1_000_000, 2))
  for await (const piece of body) expect(piece.every((byte) => byte === 1)).toBe(true)
})
