import { expect, onTestFinished, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { addEvent } from './support/event-handlers.ts'
import { startTestService } from './support/test-service.ts'

test('the hosts are listed with their checks', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const holt = new Holt({ url: service.url, apiKey: service.key })
  const hosts = await holt.hosts.list().all()
  expect(hosts).toMatchObject([{ name: 'machine', checks: [{ name: 'memory', status: 'ok' }] }])
  expect(service.calls.at(-1)?.route).toBe('listHosts')
})

test('a host is changed by its id', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const { hosts } = new Holt({ url: service.url, apiKey: service.key })
  await hosts.cordon('ho1')
  await hosts.uncordon('ho1')
  expect(await hosts.drain('ho1', { dry_run: true })).toMatchObject({ drains: false, moving: 2 })
  await hosts.lose('ho1', { force: true })
  await hosts.forget('ho1')
  const calls = service.calls.slice(-5)
  expect(calls.map(({ route }) => route)).toEqual(['cordonHost', 'uncordonHost', 'drainHost', 'loseHost', 'forgetHost'])
})

test('the events of hosts are listed and followed in a log of their own', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const { hosts } = new Holt({ url: service.url, apiKey: service.key })
  const lost = addEvent(service, 'host.lost', { kind: 'host', id: 'ho1' })
  addEvent(service, 'host.ready', { kind: 'host', id: 'ho2' })
  expect(await hosts.events.list({ types: ['host.lost'], subject: 'ho1' }).all()).toEqual([lost])
  for await (const event of hosts.events.follow({ cursor: 0 })) {
    expect(event).toEqual(lost)
    break
  }
  expect(new Set(service.calls.map(({ route }) => route))).toEqual(new Set(['listHostEvents']))
})

test('a join token is made, listed without its text, and revoked', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const { hosts } = new Holt({ url: service.url, apiKey: service.key })
  const { token, ...row } = await hosts.createJoinToken({ ttl_secs: 60, once: true })
  expect(token).toBe('holt-join-1.secret')
  expect(row).toMatchObject({ once: true, uses: 0 })
  expect(await hosts.listJoinTokens().all()).toEqual([row])
  await hosts.revokeJoinToken(row.token_id)
  expect(await hosts.listJoinTokens().all()).toEqual([])
  await expect(hosts.revokeJoinToken(row.token_id)).rejects.toMatchObject({ code: 'join_token_not_found' })
})
