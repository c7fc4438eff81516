import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProgressReader, progressTotal } from '../../src/base/progress.ts'

const log = readFileSync(new URL('../fixtures/mmdebstrap-output.txt', import.meta.url), 'utf8').split('\n')

function follow(lines: readonly string[]) {
  const reader = new ProgressReader({ fetches: 1, steps: 6 })
  reader.fetched()
  return lines.map((line) => {
    reader.read(line)
    return reader.progress
  })
}

test('a real run passes every phase and ends complete', () => {
  const seen = follow(log)
  expect([...new Set(seen.map(({ phase }) => phase))]).toEqual([
    'fetch',
    'index',
    'essential',
    'download',
    'install',
    'configure',
    'ready',
  ])
  expect(seen.at(-1)?.done).toBe(progressTotal)
})

test('a phase is nearly complete when the next begins, so the bar does not jump', () => {
  const jumps = follow(log).map(({ done }, index, all) => done - (all[index - 1]?.done ?? done))
  expect(Math.max(...jumps)).toBeLessThan(progressTotal / 8)
})

test('any output keeps the progress rising and within its total', () => {
  const line = fc.oneof(fc.constantFrom(...log), fc.string())
  fc.assert(
    fc.property(fc.array(line, { maxLength: 200 }), (lines) => {
      const done = follow(lines).map((progress) => progress.done)
      for (const [index, value] of done.entries()) {
        expect(value).toBeGreaterThanOrEqual(done[index - 1] ?? 0)
        expect(value).toBeLessThanOrEqual(progressTotal)
      }
    }),
  )
})
