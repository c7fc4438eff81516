import { expect, test } from 'vitest'
import { IDS_OF_RUNTIME, pickIdRange } from '../../src/runtimes/id-ranges.ts'

test('gives every runtime of an installation a separate range, until all are in use', async () => {
  const taken = new Set<number>()
  const isFree = async (firstId: number) => !taken.has(firstId)
  for (;;) {
    try {
      const firstId = await pickIdRange('one', isFree)
      expect(firstId % IDS_OF_RUNTIME).toBe(0)
      expect(taken.has(firstId)).toBe(false)
      taken.add(firstId)
    } catch (error) {
      expect(error).toMatchObject({ kind: 'unavailable' })
      break
    }
  }
  expect(taken.size).toBeGreaterThan(4_000)
  expect(Math.min(...taken)).toBeGreaterThan(0x6fff_ffff)
  expect(Math.max(...taken) + IDS_OF_RUNTIME).toBeLessThanOrEqual(0x7ffe_0000)
})

test('reuses the range of a removed runtime, and starts elsewhere for another installation', async () => {
  const all = async () => true
  const first = await pickIdRange('one', all)
  expect(await pickIdRange('one', all)).toBe(first)
  expect(await pickIdRange('one', async (firstId) => firstId !== first)).not.toBe(first)
  expect(await pickIdRange('two', all)).not.toBe(first)
})
