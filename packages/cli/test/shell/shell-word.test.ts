import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { complete } from '../../src/completion/candidates.ts'
import { buildProgram } from '../../src/program.ts'
import { isPlainWord, shellWord } from '../../src/shell/shell-word.ts'

/** Arguments that a kernel accepts: any text without NUL. */
const argument = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .filter((text) => !text.includes('\0') && text.isWellFormed())
const shellish = fc.string({ unit: fc.constantFrom(...'ab -_$(){}[];&|<>*?!#~^=\'"`\\\n\t\r,.:/@%+'), maxLength: 24 })

test('a word in a hint is one word of the shell, for any text', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(argument, shellish), { minLength: 1, maxLength: 20 }), (words) => {
      const script = `printf '%s\\0' ${words.map(shellWord).join(' ')}`
      expect(execFileSync('sh', ['-c', script]).toString().split('\0').slice(0, -1)).toEqual(words)
    }),
    { numRuns: 30 },
  )
})

test.each(['mine', 'rt0123456789abcdefghij', 'web:v2', '/workspace/a-b_c', 'a+b@c'])('%s stays as it is', (word) => {
  expect(shellWord(word)).toBe(word)
})

test('completion offers no special characters of a shell, for any name of the service', async () => {
  const program = await buildProgram([])
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(argument, shellish, fc.string({ unit: 'binary' }))), async (names) => {
      const named = async () => [...names, 'dev'].map((value) => ({ value, about: '' }))
      const sources = { runtime: named, session: named, command: named, key: named, source: named }
      for (const words of [
        ['exec', ''],
        ['session', 'rm', 'mine', ''],
        ['logs', 'mine', ''],
        ['cp', ''],
      ]) {
        const { candidates } = await complete(program, words, sources)
        for (const { value } of candidates)
          expect(value).toMatch(/^[A-Za-z0-9_./:@+,][A-Za-z0-9_./:@+,=-]*$|^[a-z]+\.\*$/)
        expect(candidates.map(({ value }) => value)).toContain('dev')
        expect(candidates.length).toBe(
          names.filter((name) => isPlainWord(name) || /^[a-z]+\.\*$|^--[a-z][a-z-]*$/.test(name)).length + 1,
        )
      }
    }),
  )
})
