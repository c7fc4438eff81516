import type { CommandResult } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shortenResult } from '../../../src/inside/commands/shorten-result.ts'

/** The tested fields of a result. */
const resultWith = (stdout: string, stderr: string) =>
  ({
    command_id: 'cm1',
    exit_code: 0,
    stdout,
    stderr,
    truncated: { stdout: false, stderr: false },
  }) as unknown as CommandResult

const text = fc.string({ unit: fc.constantFrom('a', 'é', '\0', '\n', '"', '€', '😀'), maxLength: 300 })

test('has the beginning of both streams within the limit, and says that it is truncated', () => {
  fc.assert(
    fc.property(text, text, fc.integer({ min: 200, max: 3000 }), (stdout, stderr, maxBytes) => {
      const short = shortenResult(resultWith(stdout, stderr), maxBytes)
      expect(Buffer.byteLength(JSON.stringify(short))).toBeLessThanOrEqual(maxBytes)
      for (const [cut, whole, flag] of [
        [short.stdout, stdout, short.truncated.stdout],
        [short.stderr, stderr, short.truncated.stderr],
      ] as const) {
        expect(whole.startsWith(cut)).toBe(true)
        expect(cut.isWellFormed()).toBe(true)
        expect(flag).toBe(cut !== whole)
      }
    }),
  )
})

test('cuts no more than necessary', () => {
  const short = shortenResult(resultWith('\0'.repeat(1000), ''), 1200)
  expect(Buffer.byteLength(JSON.stringify(short))).toBeGreaterThan(600)
  expect(shortenResult(resultWith('out', 'err'), 1200)).toEqual(resultWith('out', 'err'))
})
