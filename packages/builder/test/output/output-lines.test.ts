import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { OutputLines } from '../../src/output/output-lines.ts'
import { Redactor } from '../../src/output/redact.ts'

/** Returns the log of a step that writes these pieces. */
function linesOf(pieces: readonly (string | Uint8Array)[], secrets: readonly string[] = []): string[] {
  const written: string[] = []
  const lines = new OutputLines(new Redactor(secrets), (line) => written.push(line))
  for (const piece of pieces) lines.add('stdout', Buffer.from(piece))
  lines[Symbol.dispose]()
  return written
}

test.each([
  ['whole lines', ['one\ntwo\n'], ['one', 'two']],
  ['a line in pieces', ['on', 'e\nt', 'wo'], ['one', 'two']],
  ['a line end in two pieces', ['one\r', '\ntwo\r\n'], ['one', 'two']],
  ['progress that overwrites itself', ['10%\r20%\r30%\n'], ['10%', '20%', '30%']],
  ['empty lines', ['one\n\ntwo\n'], ['one', '', 'two']],
  ['colours and titles', ['\u001b[1;31mred\u001b[0m\u001b]0;title\u0007 rest\n'], ['red rest']],
  ['control characters', ['a\u0000b\u0008c\td\n'], ['abc\td']],
  ['a character in two pieces', [Buffer.from('é\n').subarray(0, 1), Buffer.from('é\n').subarray(1)], ['é']],
  ['bytes that are not UTF-8', [Buffer.from([0x61, 0xff, 0x62, 0x0a])], ['a\ufffdb']],
])('keeps %s', (_, pieces, lines) => {
  expect(linesOf(pieces)).toEqual(lines)
})

test('cuts lines that are too long', () => {
  const written = linesOf(['x'.repeat(100_000), '\nend\n'])
  expect(Math.max(...written.map((line) => line.length))).toBe(8192)
  expect(written.join('')).toBe(`${'x'.repeat(100_000)}end`)
})

test('keeps a limited number of lines per second and counts the others', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const written = linesOf([Array.from({ length: 5_000 }, (_, index) => `${index}\n`).join('')])
    expect(written).toHaveLength(2_001)
    expect(written.at(-1)).toBe('(3000 lines were left out: too many in a second)')
  } finally {
    vi.useRealTimers()
  }
})

test('shows a line without an end after a while, but not the beginning of a secret', () => {
  vi.useFakeTimers()
  try {
    const written: string[] = []
    const lines = new OutputLines(new Redactor(['hunter2hunter2']), (line) => written.push(line))
    lines.add('stdout', Buffer.from('Continue? [y/n] hunter2'))
    vi.advanceTimersByTime(1_000)
    expect(written).toEqual(['Continue? [y/n] '])
    lines.add('stdout', Buffer.from('hunter2 after\n'))
    lines[Symbol.dispose]()
    expect(written).toEqual(['Continue? [y/n] ', '******** after'])
  } finally {
    vi.useRealTimers()
  }
})

test('keeps the last lines for the error', () => {
  const lines = new OutputLines(new Redactor([]), () => {})
  lines.add('stderr', Buffer.from(Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('')))
  lines[Symbol.dispose]()
  expect(lines.tail.split('\n')).toHaveLength(20)
  expect(lines.tail.endsWith('line 49')).toBe(true)
})

test('never writes a secret, however the output is split', () => {
  const secret = 's3cr3t-value-of-24-chars'
  const noise = fc.string({ unit: fc.constantFrom('a', 's', '3', '-', '\n', ' '), maxLength: 20_000 })
  fc.assert(
    fc.property(noise, noise, fc.array(fc.nat(40_000), { maxLength: 8 }), (before, after, cuts) => {
      const text = `${before}${secret}${after}${secret}`
      const points = [0, ...cuts.map((cut) => cut % text.length).sort((one, other) => one - other), text.length]
      const pieces = points.slice(1).map((point, index) => text.slice(points[index], point))
      expect(linesOf(pieces, [secret]).join('')).not.toContain(secret)
    }),
    { numRuns: 200 },
  )
})

test('also removes the single lines of a secret, and the longest match first', () => {
  const key = '-----BEGIN KEY-----\nMIIBVgIBADANBgkqhki\n-----END KEY-----\n'
  const redactor = new Redactor([key, 'abc', 'abcdef'])
  expect(redactor.redact('x MIIBVgIBADANBgkqhki y')).toBe('x ******** y')
  expect(redactor.redact('abcdef abc')).toBe('******** ********')
  expect(new Redactor(['']).redact('text')).toBe('text')
})
