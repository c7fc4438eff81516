import type { NetworkLogItem } from '@holt/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { deniedConnection } from './support/samples.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

const decision = (cursor: number, allowed: boolean, atMs = 0): NetworkLogItem =>
  deniedConnection({
    cursor,
    at: new Date(atMs).toISOString(),
    allowed,
    rule: allowed ? 'api.example.com:443' : 'no_rule',
  })

test('policies are stored, listed, replaced and deleted', async () => {
  const { policy_id } = await holt.policies.create({ name: 'web', allow: [{ host: 'api.example.com' }] })
  expect((await holt.policies.list().all()).map(({ name }) => name)).toEqual(['web'])
  expect(await holt.policies.get('web')).toMatchObject({ policy_id, allow: [{ ports: [443] }], revision: 1 })
  expect(await holt.policies.replace('web', { include: ['npm'] })).toMatchObject({ include: ['npm'], revision: 2 })
  expect((await holt.policies.presets())[0]?.hosts[0]?.host).toBe('registry.npmjs.org')
  await holt.policies.delete('web')
  await expect(holt.policies.get('web')).rejects.toMatchObject({ code: 'policy_not_found' })
})

test('a change with the etag of an earlier version fails, and changes nothing', async () => {
  const policy = await holt.policies.create({ name: 'web' })
  const changed = await holt.policies.replace('web', { include: ['npm'] }, { ifMatch: policy.etag })
  const late = { code: 'precondition_failed', httpStatus: 412 }
  await expect(holt.policies.replace('web', {}, { ifMatch: policy.etag })).rejects.toMatchObject(late)
  expect(await holt.policies.get('web')).toMatchObject({ include: ['npm'], etag: changed.etag })
  const { network } = await holt.runtimes.create()
  const before = await network.get()
  await network.set('web', { ifMatch: before.etag })
  await expect(network.set(null, { ifMatch: before.etag })).rejects.toMatchObject(late)
  const secret = await holt.secrets.create({ name: 's', value: 'x', hosts: ['a.example.com'] })
  await holt.secrets.replace('s', { header: 'x-a' }, { ifMatch: secret.etag })
  await expect(holt.secrets.replace('s', { header: 'x-b' }, { ifMatch: secret.etag })).rejects.toMatchObject(late)
  const { providers } = holt.secrets
  const provider = await providers.create({ name: 'p', type: 'static', value: 'x' })
  const settings = { type: 'static', value: 'y' } as const
  await providers.replace('p', settings, { ifMatch: provider.etag })
  await expect(providers.replace('p', settings, { ifMatch: provider.etag })).rejects.toMatchObject(late)
  const webhook = await holt.webhooks.create({ url: 'https://hooks.example.com' })
  const update = (ifMatch: string) => holt.webhooks.update(webhook.webhook_id, { description: 'a' }, { ifMatch })
  await update(webhook.etag)
  await expect(update(webhook.etag)).rejects.toMatchObject(late)
})

test('a conditional change whose answer was lost does not blame somebody else', async () => {
  const { etag } = await holt.policies.create({ name: 'web' })
  service.faults.push({ route: 'replacePolicy', type: 'lose' })
  await expect(holt.policies.replace('web', { include: ['npm'] }, { ifMatch: etag })).rejects.toMatchObject({
    reason: 'lost',
    message: expect.stringContaining('another version'),
  })
})

test('a secret with a lost answer is repeated, not stored twice', async () => {
  service.faults.push({ route: 'createSecret', type: 'refuse', code: 'unavailable' })
  const secret = await holt.secrets.create({ name: 'stripe', value: 'hunter22', hosts: ['api.stripe.com'] })
  expect(secret).not.toHaveProperty('value')
  const keys = service.calls
    .filter(({ route }) => route === 'createSecret')
    .map((call) => call.headers['idempotency-key'])
  expect(keys).toEqual([keys[0], keys[0]])
})

test('set stores a secret, or gives it a new version', async () => {
  const settings = { name: 'stripe', hosts: ['api.stripe.com'] }
  expect(await holt.secrets.set({ ...settings, value: 'one' })).toMatchObject({ version: 1 })
  expect(await holt.secrets.set({ ...settings, value: 'two' })).toMatchObject({ version: 2 })
  expect([...service.secrets.values()]).toMatchObject([{ value: 'two' }])
  await expect(holt.secrets.set({ name: 'stripe', value: 'three', env: true })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(await holt.secrets.rotateKey()).toBe(1)
})

test('providers are stored, replaced and deleted', async () => {
  const { providers } = holt.secrets
  await providers.create({ name: 'cloud', type: 'workload', audience: 'sts.example.com' })
  const replaced = await providers.replace('cloud', { type: 'workload', audience: 'sts.example.org', ttl_secs: 60 })
  expect(replaced).toMatchObject({ version: 2, settings: { audience: 'sts.example.org' } })
  await providers.delete('cloud')
  expect(await providers.list().all()).toEqual([])
})

test('the network of a runtime is read, replaced, tested and explained', async () => {
  const runtime = await holt.runtimes.create({ network_policy: { allow: [{ host: 'api.example.com' }] } })
  expect(runtime.network_policy).toEqual({ type: 'inline' })
  expect((await runtime.network.get()).policy?.allow).toMatchObject([{ host: 'api.example.com', ports: [443] }])
  expect(await runtime.network.test({ host: 'api.example.com' })).toMatchObject({ allowed: true })
  expect((await runtime.network.set(null)).policy).toBeNull()
  expect(await runtime.network.test({ host: 'api.example.com' })).toMatchObject({ allowed: false, rule: 'no_rule' })
  expect((await runtime.network.suggest()).add).toEqual([{ host: 'api.example.com', ports: [443] }])
})

test('the log can be read from a time on', async () => {
  const runtime = await holt.runtimes.create()
  service.decisions.push(decision(1, false, 1000), decision(2, false, 2000), { type: 'end', cursor: 2 })
  const items = await Array.fromAsync(runtime.network.log({ since: '1970-01-01T00:00:01.500Z' }))
  expect(items.map(({ cursor }) => cursor)).toEqual([2, 2])
})

test('a log that breaks off is continued after its last item', async () => {
  const runtime = await holt.runtimes.create()
  service.decisions.push(decision(1, false), decision(2, true), { type: 'end', cursor: 2 })
  service.faults.push({ route: 'readNetworkLog', type: 'cut', items: 1 })
  const items = await Array.fromAsync(runtime.network.log())
  expect(items.map(({ type, cursor }) => [type, cursor])).toEqual([
    ['connect', 1],
    ['connect', 2],
    ['end', 2],
  ])
  expect(service.count('readNetworkLog')).toBe(2)
})
