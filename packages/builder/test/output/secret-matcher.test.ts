import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Redactor } from '../../src/output/redact.ts'
import { SecretMatcher } from '../../src/output/secret-matcher.ts'

const word = fc.stringMatching(/^[ab]{0,6}$/)

test('every part of a value is removed, and all other text stays', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), fc.stringMatching(/^[ab ]{0,40}$/), (values, text) => {
      const hidden = new Set<number>()
      for (const value of values.filter((one) => one !== ''))
        for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
          for (let offset = 0; offset < value.length; offset++) hidden.add(at + offset)
      const left = [...text].filter((_, at) => !hidden.has(at)).join('')
      expect(new SecretMatcher(values).replace(text, '*').replaceAll('*', '')).toBe(left)
    }),
  )
})

test('the open end is the longest prefix of a value', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), word, (values, text) => {
      const isOpen = (length: number) =>
        values.some((value) => value.length > length && value.startsWith(text.slice(text.length - length)))
      const lengths = Array.from({ length: text.length + 1 }, (_, length) => length)
      const longest = Math.max(...lengths.filter((length) => length === 0 || isOpen(length)))
      expect(new SecretMatcher(values).openEnd(text)).toBe(longest)
    }),
  )
})

test('adjacent values are two, and without values nothing changes', () => {
  expect(new SecretMatcher(['abc']).replace('abcabc', '*')).toBe('**')
  expect(new SecretMatcher(['', 'abcdef', 'cd']).replace('xabcdefcdx', '*')).toBe('x**x')
  expect(new SecretMatcher([]).replace('abc', '*')).toBe('abc')
})

test('the time does not depend on the number of values', () => {
  const values = Array.from({ length: 20_000 }, (_, index) => `aaaaaaaa${index}`)
  const redactor = new Redactor([values.join('\n'), 'a'.repeat(200_000)])
  const ms = (work: () => unknown) => {
    const began = performance.now()
    work()
    return performance.now() - began
  }
  const few = new Redactor(['aaaaaaaa1'])
  const line = `${'a'.repeat(16_000)}b`
  const lines = Array.from({ length: 20 }, () => line)
  const base = Math.min(...[1, 2, 3].map(() => ms(() => lines.map((text) => [few.redact(text), few.openEnd(text)]))))
  const many = Math.min(
    ...[1, 2, 3].map(() => ms(() => lines.map((text) => [redactor.redact(text), redactor.openEnd(text)]))),
  )
  expect(many).toBeLessThan(Math.max(base, 1) * 100)
})
