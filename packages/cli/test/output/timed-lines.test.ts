import { expect, test } from 'vitest'
import { TimedLines } from '../../src/output/timed-lines.ts'

test('each line of a stream has the time of its first byte', () => {
  const lines = new TimedLines()
  const add = (stream: string, text: string, at: string) =>
    Buffer.from(lines.add(stream, Buffer.from(text), at)).toString()
  expect(add('stdout', 'one\ntw', 'T1')).toBe('T1 one\nT1 tw')
  expect(add('stderr', 'oops\n\n', 'T2')).toBe('T2 oops\nT2 \n')
  expect(add('stdout', 'o', 'T3')).toBe('o')
  expect(add('stdout', '\nthree\n', 'T4')).toBe('\nT4 three\n')
  expect(add('stdout', '', 'T5')).toBe('')
})
