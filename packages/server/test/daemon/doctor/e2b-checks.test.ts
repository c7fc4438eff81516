import { chmod } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { checkE2b } from '../../../src/daemon/doctor/e2b-checks.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'
import { newCertificate } from '../../support/secure-visitor.ts'

const dayMs = 24 * 60 * 60 * 1000

const check = (env: Record<string, string>, now = Date.now()) => checkE2b(parseConfig({ HOLT_E2B: 'on', ...env }), now)

/** The settings of a certificate for `holt.localhost`, for 30 days. */
async function settings(domain = 'holt.localhost') {
  const { certFile, keyFile } = await newCertificate()
  return { HOLT_E2B_DOMAIN: `${domain}:8443`, HOLT_E2B_TLS_CERT: certFile, HOLT_E2B_TLS_KEY: keyFile }
}

test('without the entry for E2B there is nothing to check', async () => {
  expect(await checkE2b(parseConfig({}))).toEqual([])
})

test.each([
  ['deny', {}, 'ok', /reach no host .*ports are public/],
  ['request', { HOLT_E2B_PUBLIC_PORTS: 'off' }, 'ok', /asks for.*ports need a token/],
  ['open', {}, 'warn', /every public host/],
  ['open', { HOLT_E2B_INTERNET_POLICY: 'narrow' }, 'ok', /the policy narrow/],
])('the mode of egress %s with %o is reported', async (mode, settings, status, message) => {
  const [egress] = await check({ HOLT_E2B_EGRESS: mode, ...settings })
  expect(egress).toEqual({ name: 'E2B egress', status, message: expect.stringMatching(message), fix: null })
})

test('a domain without TLS is a warning', async () => {
  const [, mode] = await check({ HOLT_E2B_DOMAIN: 'holt.localhost' })
  expect(mode).toMatchObject({ status: 'warn', fix: 'holt e2b certificate' })
})

test('a certificate for the domain is good until it is about to end', async () => {
  const env = await settings()
  const at = async (days: number) => (await check(env, Date.now() + days * dayMs))[1]
  expect(await at(0)).toMatchObject({ status: 'ok' })
  expect(await at(20)).toMatchObject({ status: 'warn', message: expect.stringContaining('it ends in') })
  expect(await at(31)).toMatchObject({ status: 'fix', message: 'it has ended' })
})

test('a certificate of another domain, a readable key and a missing file must be repaired', async () => {
  expect((await check(await settings('other.localhost')))[1]).toMatchObject({
    status: 'fix',
    message: 'it is not for other.localhost and 3000-rt0.other.localhost',
    fix: 'holt e2b certificate --domain other.localhost',
  })
  const env = await settings()
  await chmod(env.HOLT_E2B_TLS_KEY, 0o644)
  expect((await check(env))[1]).toMatchObject({ status: 'fix', fix: `chmod 600 ${env.HOLT_E2B_TLS_KEY}` })
  const missing = { ...env, HOLT_E2B_TLS_CERT: '/none.pem' }
  expect((await check(missing))[1]).toMatchObject({ status: 'fix', message: expect.stringContaining('/none.pem') })
})
