import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { isSandboxToken, sandboxToken } from '../../../src/inside/ports/sandbox-token.ts'

const secret = randomBytes(32)
const holder = { runtime_id: 'rtaaaaaaaaaaaaaaaaaaaa', token_generation: 0 }
const text = sandboxToken(secret, 'envd', holder)

test('a token is the same each time, and opens its runtime', () => {
  expect(sandboxToken(secret, 'envd', { ...holder })).toBe(text)
  expect(isSandboxToken(secret, 'envd', { holder, text })).toBe(true)
})

test.each<[string, Parameters<typeof isSandboxToken>]>([
  ['another runtime', [secret, 'envd', { holder: { ...holder, runtime_id: 'rtbaaaaaaaaaaaaaaaaaaa' }, text }]],
  ['a later generation', [secret, 'envd', { holder: { ...holder, token_generation: 1 }, text }]],
  ['another use', [secret, 'traffic', { holder, text }]],
  ['another service', [randomBytes(32), 'envd', { holder, text }]],
  ['a longer text', [secret, 'envd', { holder, text: `${text}0` }]],
  ['a shorter text', [secret, 'envd', { holder, text: text.slice(1) }]],
  ['an empty text', [secret, 'envd', { holder, text: '' }]],
])('a token does not open %s', (_, parts) => {
  expect(isSandboxToken(...parts)).toBe(false)
})
