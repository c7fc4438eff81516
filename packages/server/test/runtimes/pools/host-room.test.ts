import { expect, test } from 'vitest'
import { type HostRoom, hasRoom, isTight } from '../../../src/runtimes/pools/host-room.ts'

const reserve = { memoryMiB: null, diskMiB: 1024 }
const host: HostRoom = { memoryMiB: 24_000, freeMemoryMiB: 12_000, diskFreeMiB: 100_000, reserve }

test.each<[string, Partial<HostRoom>, boolean, boolean]>([
  ['a host with room', {}, true, false],
  ['a host whose free memory is not known', { freeMemoryMiB: null }, true, false],
  ['a host that is nearly full', { freeMemoryMiB: 2500 }, false, false],
  ['a host that is full', { freeMemoryMiB: 2000 }, false, true],
  ['a small host', { memoryMiB: 2048, freeMemoryMiB: 1000 }, false, true],
  ['a disk that is nearly full', { diskFreeMiB: 1500 }, false, false],
  ['a host with a large reserve', { reserve: { ...reserve, memoryMiB: 11_800 } }, false, true],
  ['a disk with a large reserve', { reserve: { ...reserve, diskMiB: 60_000 } }, false, false],
  ['a disk that is full', { diskFreeMiB: 900 }, false, true],
])('%s', (_what, change, room, tight) => {
  const now = { ...host, ...change }
  expect(hasRoom(now, 64)).toBe(room)
  expect(isTight(now)).toBe(tight)
})

test('a host with room for one more is never tight with it', () => {
  for (let freeMemoryMiB = 0; freeMemoryMiB < 6000; freeMemoryMiB += 50) {
    if (hasRoom({ ...host, freeMemoryMiB }, 200))
      expect(isTight({ ...host, freeMemoryMiB: freeMemoryMiB - 200 })).toBe(false)
  }
})
