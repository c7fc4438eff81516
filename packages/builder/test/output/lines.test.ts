import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LastOutput } from '../../src/output/last-output.ts'
import { Lines } from '../../src/output/lines.ts'

function linesOf(parts: readonly Uint8Array[]): string[] {
  const told: string[] = []
  const lines = new Lines((line) => told.push(line))
  for (const part of parts) lines.add(part)
  lines.end()
  return told
}

test('lines are the same however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 1, max: 7 }), (texts, size) => {
      const text = texts.map((each) => each.replaceAll(/[\r\n]/g, '')).join('\n')
      const bytes = Buffer.from(text)
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      const wanted = text.split('\n')
      if (wanted.at(-1) === '') wanted.pop()
      expect(linesOf(parts)).toEqual(wanted)
    }),
  )
})

test('an endless line becomes several', () => {
  const told = linesOf([Buffer.alloc(10_000, 'x'), Buffer.alloc(10_000, 'x'), Buffer.from('\nend')])
  expect(told.map((line) => line.length)).toEqual([8192, 8192, 3616, 3])
})

test('the last output is bounded, and says that it is truncated', () => {
  const output = new LastOutput()
  expect(output.quote()).toBe('It wrote nothing.')
  for (let i = 0; i < 1000; i++) output.add(Buffer.from(`line ${i}\n`))
  expect(output.quote().length).toBeLessThan(4200)
  expect(output.quote()).toMatch(/^It wrote last:\n\.\.\. .*line 999$/s)
})

test('a flood is counted and not logged', () => {
  const told = linesOf([Buffer.from('y\n'.repeat(50_000))])
  const said = told.filter((line) => line === 'y').length
  const leftOut = told.flatMap((line) => /^\((\d+) lines were left out/.exec(line)?.[1] ?? [])
  expect(said + leftOut.reduce((sum, count) => sum + Number(count), 0)).toBe(50_000)
  expect(said).toBeLessThan(25_000)
})
