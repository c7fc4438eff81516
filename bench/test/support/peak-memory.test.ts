import { expect, test } from 'vitest'
import { peakMemoryMiB } from '../../support/peak-memory.ts'

const options = { timeoutMs: 60_000 }

test('a short peak of a program counts', async () => {
  const takes = (mib: number) => [process.execPath, '-e', `Buffer.alloc(${mib} * 2 ** 20, 1)`]
  const small = await peakMemoryMiB(takes(1), 2, options)
  const large = await peakMemoryMiB(takes(200), 2, options)
  expect(small).toBeGreaterThan(10)
  expect(large - small).toBeGreaterThan(150)
  expect(large - small).toBeLessThan(250)
})

test('a program that fails has no value', async () => {
  await expect(peakMemoryMiB([process.execPath, '-e', 'process.exit(3)'], 1, options)).rejects.toThrow()
})
