import { Readable } from 'node:stream'
import type { GuestLink, GuestRequest } from '@holt/engine'
import { expect, test } from 'vitest'
import type { MemoryLimit } from '../../src/memory/memory-limit.ts'
import { relieveMemory } from '../../src/memory/relieve-memory.ts'

const mib = 2 ** 20
const limitBytes = 256 * mib

/**
 * Returns a runtime with a use of memory. Its guest ends the given processes at each request. Null
 * is the answer of a guest that does not know the request.
 */
function runtimeWith(
  use: { bytes: number; stuck?: boolean },
  rounds: readonly (readonly number[] | null)[],
  pids?: readonly number[],
  inFiles?: boolean,
) {
  const requests: { free_bytes: number; least_bytes: number; whole: boolean }[] = []
  const raised: number[] = []
  const limit: MemoryLimit = {
    thresholds: [],
    enforce: async () => true,
    used: async () => use.bytes,
    isStuck: async () => use.stuck ?? false,
    raise: async () => {
      raised.push(use.bytes)
      use.stuck = false
      return true
    },
  }
  const answer = ({ body }: GuestRequest) => {
    requests.push(JSON.parse(String(body)))
    const sizes = rounds[requests.length - 1]
    if (sizes === null) return { status: 404, json: { error: { code: 'route_not_found', message: 'no such route' } } }
    for (const size of sizes ?? []) use.bytes -= size
    const ended = (sizes ?? []).map((resident_bytes, at) => ({
      pid: pids?.[requests.length - 1] ?? 100 * requests.length + at,
      name: 'hog',
      resident_bytes,
      command_id: null,
    }))
    return { status: 200, json: { ended, in_files: inFiles } }
  }
  const link: GuestLink = {
    connected: true,
    request: async (request) => {
      const { status, json } = answer(request)
      return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(json))]) }
    },
  }
  const ended: number[] = []
  let stuck = 0
  const shortage = {
    limit,
    limitBytes,
    link,
    signal: new AbortController().signal,
    onEnded: (all: readonly { resident_bytes: number }[]) => ended.push(...all.map((one) => one.resident_bytes)),
    onStuck: () => {
      stuck++
    },
    onSilent: () => {},
  }
  return { shortage, requests, ended, raised, stuckTimes: () => stuck }
}

test('reports a process once, although it is still dying in the next round', async () => {
  const { shortage, requests, ended } = runtimeWith(
    { bytes: limitBytes + 200 * mib },
    [[100 * mib], [150 * mib]],
    [7, 7],
  )
  expect(await relieveMemory(shortage)).toBe(true)
  expect(requests).toHaveLength(2)
  expect(ended).toEqual([100 * mib])
})

test('does nothing without a shortage', async () => {
  const { shortage, requests } = runtimeWith({ bytes: limitBytes - 1 }, [])
  expect(await relieveMemory(shortage)).toBe(true)
  expect(requests).toEqual([])
})

test('kills enough to free a part of the limit', async () => {
  const { shortage, requests, ended } = runtimeWith({ bytes: limitBytes + 8 * mib }, [[240 * mib]])
  expect(await relieveMemory(shortage)).toBe(true)
  expect(requests).toMatchObject([{ free_bytes: 40 * mib, least_bytes: 16 * mib, whole: false }])
  expect(ended).toEqual([240 * mib])
})

test('frees more in a second round, and kills whole commands from the third', async () => {
  const { shortage, requests } = runtimeWith({ bytes: limitBytes + 50 * mib }, [[20 * mib], [20 * mib], [64 * mib]])
  expect(await relieveMemory(shortage)).toBe(true)
  expect(requests.map(({ whole }) => whole)).toEqual([false, false, true])
  expect(requests[1]?.free_bytes).toBe(128 * mib + 30 * mib)
})

test('keeps files in memory if no process waits for memory', async () => {
  const { shortage, ended } = runtimeWith({ bytes: limitBytes + 8 * mib }, [[]])
  expect([await relieveMemory(shortage), ended]).toEqual([true, []])
})

test('kills the process that wrote files in memory, and no other', async () => {
  const { shortage, ended } = runtimeWith({ bytes: limitBytes + 8 * mib }, [[2 * mib], [64 * mib]])
  expect([await relieveMemory(shortage), ended]).toEqual([true, [2 * mib]])
})

test('kills one process if files in memory hold the rest, however large it is', async () => {
  const { shortage, ended } = runtimeWith({ bytes: limitBytes + 90 * mib }, [[17 * mib], [17 * mib]], undefined, true)
  expect([await relieveMemory(shortage), ended]).toEqual([true, [17 * mib]])
})

test('gives up if processes wait for memory and none is the cause', async () => {
  const { shortage, stuckTimes } = runtimeWith({ bytes: limitBytes + 8 * mib, stuck: true }, [[]])
  expect(await relieveMemory(shortage)).toBe(false)
  expect(stuckTimes()).toBeGreaterThan(0)
})

test('lets all processes continue if the guest does not answer', async () => {
  const { shortage, ended } = runtimeWith({ bytes: limitBytes + 8 * mib }, [[64 * mib]])
  const silent = Promise.withResolvers<void>()
  const link: GuestLink = {
    connected: true,
    request: async (request) => {
      await silent.promise
      return shortage.link.request(request)
    },
  }
  expect(await relieveMemory({ ...shortage, link, onSilent: silent.resolve })).toBe(true)
  expect(ended).toEqual([64 * mib])
})

test('gives up if the guest does not support the request', async () => {
  const { shortage } = runtimeWith({ bytes: limitBytes + 8 * mib }, [null])
  expect(await relieveMemory(shortage)).toBe(false)
})

test('ends with the runtime', async () => {
  const { shortage } = runtimeWith({ bytes: limitBytes + 8 * mib }, [])
  await expect(relieveMemory({ ...shortage, signal: AbortSignal.abort(new Error('removed')) })).rejects.toThrow(
    'removed',
  )
})
