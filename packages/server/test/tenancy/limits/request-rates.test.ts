import { expect, test } from 'vitest'
import { noQuotas } from '../../../src/foundation/rows/stored-quotas.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import { ProjectQuotas } from '../../../src/tenancy/projects/project-quotas.ts'
import { attach, TestAttachment } from '../../support/attach.ts'
import { makeProject } from '../../support/own-project.ts'
import { keepingLog, startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const list = '/v1/agents/runtime'

test('a project has the rate of its quota, gets the remainder in headers, and delays no others', async () => {
  let now = 0
  const server = await startTestServer({ monotonic: () => now })
  const team = await makeProject(server, 'team', { requests_per_sec: 2, request_burst: 5 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => team.ask('GET', list)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(15)
  expect(refused[0]?.json.error.code).toBe('rate_limited')
  expect(refused[0]?.headers.get('retry-after')).toBe('1')
  expect(refused[0]?.headers.get('ratelimit-limit')).toBe('5')
  expect(refused[0]?.headers.get('ratelimit-remaining')).toBe('0')
  expect(refused[0]?.headers.get('ratelimit-reset')).toBe('3')
  expect(
    answers
      .map(({ headers }) => headers.get('ratelimit-remaining'))
      .toSorted()
      .slice(-5),
  ).toEqual(['0', '1', '2', '3', '4'])
  const other = await server.ask('GET', list)
  expect([other.status, other.headers.get('ratelimit-limit')]).toEqual([200, null])
  now += 1000
  const later = await Promise.all([1, 2, 3].map(() => team.ask('GET', list)))
  expect(later.map(({ status }) => status).toSorted()).toEqual([200, 200, 429])
})

test('a refused upgrade has the same headers as any other answer', async () => {
  const server = await startTestServer({ monotonic: () => 0 })
  const team = await makeProject(server, 'team', { requests_per_sec: 2, request_burst: 5 })
  const target = `/v1/agents/runtime/rt${'a'.repeat(20)}/commands/cm${'a'.repeat(20)}/attach`
  const upgrade = async (key: string) => {
    const refused = await attach(`${server.server.url}${target}`, { key })
    if (refused instanceof TestAttachment) throw new Error('it was let in')
    const { date: _, 'x-request-id': id, ...headers } = refused.headers
    expect(id).toBe(refused.json.error.request_id)
    return { status: refused.status, headers }
  }
  const standing = {
    'cache-control': 'no-store',
    connection: 'close',
    'content-length': expect.stringMatching(/^\d+$/),
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
  }
  expect(await upgrade('holt_wrong')).toEqual({ status: 401, headers: { ...standing, 'www-authenticate': 'Bearer' } })
  const limits = { 'ratelimit-limit': '5', 'ratelimit-remaining': '0', 'ratelimit-reset': '3' }
  for (const left of [4, 3, 2, 1, 0]) {
    const { status, headers } = await upgrade(team.key)
    expect([status, headers['ratelimit-remaining']]).toEqual([404, String(left)])
  }
  expect(await upgrade(team.key)).toEqual({ status: 429, headers: { ...standing, ...limits, 'retry-after': '1' } })
})

test('a changed quota applies at once', async () => {
  const server = await startTestServer({ monotonic: () => 0 })
  const team = await makeProject(server, 'team', { requests_per_sec: 1 })
  expect((await team.ask('GET', list)).status).toBe(200)
  expect((await team.ask('GET', list)).status).toBe(429)
  await server.ask('PATCH', '/v1/agents/project/team', { json: { quotas: { requests_per_sec: null } } })
  expect((await team.ask('GET', list)).status).toBe(200)
})

test('a change during the first read of a project applies', async () => {
  const store = await openTestStore()
  const projectId = await ensureDefaultProject(store, 0)
  const quotas = new ProjectQuotas({ store, log: keepingLog().log }, noQuotas)
  const reading = quotas.of(projectId)
  const changed = { ...noQuotas, requests_per_sec: 5 }
  quotas.set(projectId, changed)
  expect([await reading, await quotas.of(projectId)]).toEqual([changed, changed])
  await store.close()
})

test('an address that sends wrong keys is limited, and a valid key from there still works', async () => {
  let now = 0
  const server = await startTestServer({ monotonic: () => now, failureRate: { perSec: 1, burst: 3 } })
  const wrong = () => server.ask('GET', list, { key: 'holt_wrong' })
  const statuses = [await wrong(), await wrong(), await wrong(), await wrong()].map(({ status }) => status)
  expect(statuses).toEqual([401, 401, 401, 429])
  expect(Object.fromEntries((await wrong()).headers)).toMatchObject({
    'retry-after': '1',
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '3',
  })
  expect((await server.ask('GET', list)).status).toBe(200)
  now += 1000
  expect([(await wrong()).status, (await wrong()).status]).toEqual([401, 429])
})
