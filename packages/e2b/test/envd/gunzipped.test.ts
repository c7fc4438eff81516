import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { gunzipped } from '../../src/envd/files/gunzipped.ts'

test('a small body that unpacks to very much is unpacked only as fast as it is read', async () => {
  const bomb = gzipSync(Buffer.alloc(256 * 2 ** 20))
  const piece = 1024
  let taken = 0
  async function* body() {
    for (let at = 0; at < bomb.length; at += piece) {
      taken += piece
      yield bomb.subarray(at, at + piece)
    }
  }
  expect(bomb.length).toBeLessThan(2 ** 20)
  const reader = gunzipped(body())[Symbol.asyncIterator]()
  let read = 0
  while (read < 2 ** 20) read += (await reader.next()).value?.length ?? 0
  await sleep(100)
  // A KiB of it is a MiB unpacked.
  expect(taken).toBeLessThan(bomb.length / 2)
  expect(await reader.return(undefined)).toMatchObject({ done: true })
})
