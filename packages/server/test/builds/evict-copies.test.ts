import { expect, onTestFinished, test } from 'vitest'
import type { Builds } from '../../src/builds/builds.ts'
import { evictCopies } from '../../src/builds/evict-copies.ts'
import { keepingLog } from '../support/start-test-server.ts'
import { openTestStore } from '../support/test-store.ts'

const MiB = 2 ** 20

/** Evicts copies of 100 MiB each, the first used longest ago. Returns the removed ones. */
async function evict({ stored, freeMiB }: { readonly stored: readonly string[]; readonly freeMiB: number }) {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const digests = ['one', 'two', 'three', 'only here']
  const removed: string[] = []
  const service = {
    store,
    thisHost: { hostId: 'h', epoch: 1, fenced: false },
    log: keepingLog().log,
    artifacts: { storedAmong: async () => stored },
    engine: {
      describe: async () => ({ diskMiB: 100_000, diskFreeMiB: freeMiB }),
      ability: () => ({ remove: async (id: string) => void removed.push(id) }),
    },
  } as unknown as Builds
  const images = digests.map((digest) => ({ digest, sizeBytes: 100 * MiB }))
  const collection = { remove: (_: string, run: () => Promise<void>) => run() }
  await evictCopies(service, { checkpoints: [], images, collection } as unknown as Parameters<typeof evictCopies>[1])
  return removed
}

test('copies stay while there is room, whatever else fills the disk', async () => {
  expect(await evict({ stored: ['one', 'two', 'three'], freeMiB: 200 })).toEqual([])
})

test('the copy that was used longest ago goes first, and the only copy of an artifact stays', async () => {
  expect(await evict({ stored: ['one', 'two', 'three'], freeMiB: 100 })).toEqual(['one'])
  expect(await evict({ stored: ['two'], freeMiB: 0 })).toEqual(['two'])
  expect(await evict({ stored: [], freeMiB: 0 })).toEqual([])
})
