import { expect, test } from 'vitest'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { pullLogin } from '../../src/steps/pull-login.ts'

const login = { username: 'somebody', password: 'word', registry: null }
const planOf = (text: string) => planDockerfile(text, { buildArgs: {}, target: null })

test.each([
  ['FROM ghcr.io/a/b\nCOPY --from=evil.test/x /a /a', 'ghcr.io'],
  ['FROM python AS one\nRUN true\nFROM ghcr.io/a/b\nCOPY --from=one /a /a', 'docker.io'],
  ['ARG BASE=registry.test:5000/a\nFROM $BASE', 'registry.test:5000'],
  ['FROM holt/base-small AS a\nFROM ghcr.io/b\nCOPY --from=a /a /a', 'ghcr.io'],
  ['FROM scratch\nCOPY --from=evil.test/x /a /a', ''],
])('for %j the credentials are for %j', (text, registry) => {
  expect(pullLogin(login, planOf(text))).toEqual({ ...login, registry })
})

test('a given registry stays, and no credentials stay none', () => {
  const plan = planOf('FROM ghcr.io/a/b')
  expect(pullLogin({ ...login, registry: 'other.test' }, plan)).toEqual({ ...login, registry: 'other.test' })
  expect(pullLogin(null, plan)).toBeNull()
})
