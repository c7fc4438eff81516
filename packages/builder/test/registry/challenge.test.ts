import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readChallenges } from '../../src/registry/challenge.ts'

test.each<[string, [string, Record<string, string>][]]>([
  ['', []],
  ['Negotiate', [['negotiate', {}]]],
  ['Basic realm="a, b"', [['basic', { realm: 'a, b' }]]],
  ['BASIC Realm=plain', [['basic', { realm: 'plain' }]]],
  [
    'Bearer realm="https://auth.test/token",service="registry",scope="repository:a/b:pull"',
    [['bearer', { realm: 'https://auth.test/token', service: 'registry', scope: 'repository:a/b:pull' }]],
  ],
  [
    'Negotiate, Basic realm="a" , Bearer realm = "b\\"c", scope=x',
    [
      ['negotiate', {}],
      ['basic', { realm: 'a' }],
      ['bearer', { realm: 'b"c', scope: 'x' }],
    ],
  ],
  [',, Basic realm=a,,realm=b', [['basic', { realm: 'a' }]]],
  ['Basic realm="never closed', [['basic', {}]]],
  ['Basic __proto__=a', [['basic', Object.fromEntries([['__proto__', 'a']])]]],
  ['=', []],
])('%s', (text, expected) => {
  const challenges = readChallenges(text).map(({ scheme, parameters }) => [scheme, Object.entries(parameters)])
  expect(challenges).toEqual(expected.map(([scheme, parameters]) => [scheme, Object.entries(parameters)]))
})

test('any challenge is parsed as it was written', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,9}$/)
  const value = fc.string({ maxLength: 30 })
  const challenge = fc.record({ scheme: name, parameters: fc.dictionary(name, value, { minKeys: 1, maxKeys: 4 }) })
  fc.assert(
    fc.property(fc.array(challenge, { maxLength: 4 }), (challenges) => {
      const quote = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
      const text = challenges.map(
        ({ scheme, parameters }) =>
          `${scheme} ${Object.entries(parameters)
            .map(([key, each]) => `${key}=${quote(each)}`)
            .join(', ')}`,
      )
      const read = readChallenges(text.join(', ')).map((each) => ({ ...each, parameters: { ...each.parameters } }))
      expect(read).toEqual(challenges.map((each) => ({ ...each, parameters: { ...each.parameters } })))
    }),
  )
})

test('no text takes long or throws', () => {
  const pieces = fc.constantFrom('a', '=', '"', '\\', ',', ' ', '\t', 'Bearer ', 'realm', '\0', 'ä')
  fc.assert(fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => void readChallenges(parts.join(''))))
  expect(readChallenges(`Basic ${'a="\\'.repeat(100_000)}`).length).toBeLessThan(10)
})
