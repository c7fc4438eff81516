import { quotaNames } from '@holt/protocol'
import { expect, test } from 'vitest'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { storedRows } from '../../support/test-store.ts'

const path = '/v1/agents/project'

test('a project is created, found by name and id, listed, changed and deleted', async () => {
  const { ask } = await startTestServer()
  const made = await ask('POST', path, { json: { name: 'team', quotas: { runtimes: 3, cpu: null } } })
  expect([made.status, made.json.quotas.runtimes, made.json.quotas.cpu]).toEqual([201, 3, null])
  const { project_id } = made.json
  for (const reference of ['team', project_id])
    expect((await ask('GET', `${path}/${reference}`)).json).toEqual(made.json)
  expect((await ask('GET', path)).json.data.map(({ name }: { name: string }) => name)).toEqual(['team', 'default'])
  const changed = await ask('PATCH', `${path}/team`, { json: { name: 'crew', quotas: { memory_mib: 1024 } } })
  expect(changed.json).toMatchObject({ project_id, name: 'crew', quotas: { runtimes: 3, memory_mib: 1024 } })
  expect((await ask('GET', `${path}/team`)).json.error.code).toBe('project_not_found')
  expect((await ask('DELETE', `${path}/crew`)).status).toBe(204)
  expect((await ask('DELETE', `${path}/${project_id}`)).json.error.code).toBe('project_not_found')
  expect((await ask('POST', path, { json: { name: 'crew' } })).status).toBe(201)
})

test('pages of projects are complete, even with equal creation times', async () => {
  const { ask } = await startTestServer({ now: () => 1_800_000_000_000 })
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) await ask('POST', path, { json: { name } })
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const { json } = await ask('GET', `${path}?limit=2${cursor}`)
    seen.push(...json.data.map(({ name }: { name: string }) => name))
    if (json.next_cursor === null) break
    cursor = `&cursor=${json.next_cursor}`
  }
  expect(seen.toSorted()).toEqual([...names, 'default'].toSorted())
  expect((await ask('GET', `${path}?cursor=MTp4`)).json.error.code).toBe('invalid_request')
})

test('names are unique, and the default project keeps its name and cannot be deleted', async () => {
  const server = await startTestServer()
  const { ask } = server
  await makeProject(server, 'team')
  expect((await ask('POST', path, { json: { name: 'team' } })).json.error.code).toBe('name_taken')
  expect((await ask('PATCH', `${path}/team`, { json: { name: 'default' } })).json.error.code).toBe('name_taken')
  const kept = { code: 'conflict', hint: expect.stringContaining('another project') }
  expect((await ask('PATCH', `${path}/default`, { json: { name: 'other' } })).json.error).toMatchObject(kept)
  expect((await ask('DELETE', `${path}/default`)).json.error).toMatchObject(kept)
})

test('absent quotas of a change stay, and `default` means the service setting', async () => {
  const { ask, server } = await startTestServer({ config: withQuotas({ runtimes: 7, cpu: 2 }) })
  expect(server.adminKey).not.toBe('')
  const made = await ask('POST', path, { json: { name: 'team', quotas: { runtimes: 1, builds: 1 } } })
  expect(made.json.quotas).toMatchObject({ runtimes: 1, cpu: 2, builds: 1 })
  const change = { quotas: { runtimes: 'default', cpu: null } }
  expect((await ask('PATCH', `${path}/team`, { json: change })).json.quotas).toMatchObject({
    runtimes: 7,
    cpu: null,
    builds: 1,
  })
  const { json } = await ask('PATCH', `${path}/team`, { json: { quotas: { runtimes: -1, apples: 3 } } })
  expect(json.error.code).toBe('invalid_request')
})

test('a project with resources is not deleted, and the error lists them', async () => {
  const server = await startTestServer()
  const team = await makeProject(server, 'team')
  const { runtime_id } = (await team.ask('POST', '/v1/agents/runtime', { json: {} })).json
  await team.ask('POST', '/v1/agents/network-policy', { json: { name: 'web', include: ['npm'] } })
  await team.ask('POST', '/v1/agents/secret', { json: { name: 'token', value: 'hunter22', hosts: ['a.example.com'] } })
  const refused = await server.ask('DELETE', `${path}/team`)
  expect([refused.status, refused.json.error.code]).toEqual([409, 'in_use'])
  expect(refused.json.error.hint).toContain('POST /v1/agents/key with the project team and the scope admin')
  expect(refused.json.error.details.left).toEqual({ runtimes: 1, secrets: 1, network_policies: 1 })
  await team.ask('DELETE', `/v1/agents/runtime/${runtime_id}`)
  await team.ask('DELETE', '/v1/agents/network-policy/web')
  await team.ask('DELETE', '/v1/agents/secret/token')
  expect((await server.ask('DELETE', `${path}/team`)).status).toBe(204)
  // Its keys went with it, and what happened in it is still told.
  expect((await team.ask('GET', '/v1/agents/runtime')).status).toBe(401)
  const types = await storedRows(server.stateDir, `SELECT type FROM events WHERE project_id = '${team.projectId}'`)
  expect(types.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['project.created', 'runtime.running', 'project.deleted']),
  )
})

test('the project of an operator is ordinary, and the service has no project', async () => {
  const { ask } = await startTestServer()
  const { json } = await ask('GET', '/v1/agents/whoami')
  expect(json.project.name).toBe('default')
  expect(json.key.scopes).toEqual(['admin', 'operator'])
  expect(Object.keys(json.quotas)).toEqual([...quotaNames])
  expect(json.use).toMatchObject({ runtimes: 0, cpu: 0, template_bytes: 0 })
  const service = `pr${'holt'.padEnd(20, '0')}`
  for (const [method, body] of [
    ['GET', {}],
    ['PATCH', { json: { quotas: { runtimes: 0 } } }],
    ['DELETE', {}],
  ] as const)
    expect((await ask(method, `${path}/${service}`, body)).json.error.code).toBe('project_not_found')
  expect((await ask('POST', '/v1/agents/key', { json: { name: 'x', project: service } })).status).toBe(404)
})

/** A configuration as tests have it, with quotas for all projects. */
function withQuotas(quotas: object) {
  return { projectQuotas: { ...Object.fromEntries(quotaNames.map((name) => [name, null])), ...quotas } } as never
}
