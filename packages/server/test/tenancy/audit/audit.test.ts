import { spawnSync } from 'node:child_process'
import { type AuditEntry, type Route, routes } from '@holt/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AuditLog } from '../../../src/tenancy/audit/audit-log.ts'
import { auditKindOf } from '../../../src/tenancy/audit/audited-route.ts'
import { OldAudit } from '../../../src/tenancy/audit/old-audit.ts'
import { attach, type Refused, type TestAttachment } from '../../support/attach.ts'
import { keepingLog, startTestServer } from '../../support/start-test-server.ts'
import { openTestStore, storedRows } from '../../support/test-store.ts'

const path = '/v1/agents/audit'

test('every changing call is logged: actor, action, key, address and result', async () => {
  const { ask, makeRuntime, makeKey } = await startTestServer()
  const { key, key_id } = await makeKey('runtime:write')
  const id = await makeRuntime({ name: 'mine' })
  const command = { command: 'echo a-canary', background: true }
  const started = await ask('POST', `/v1/agents/runtime/${id}/commands`, { key, json: command })
  await ask('GET', `/v1/agents/runtime/${id}`)
  await ask('DELETE', `/v1/agents/key/${key_id}`, { key })
  const { text, json } = await ask('GET', path)
  const [refused, inside, created] = json.data as AuditEntry[]
  expect(created).toMatchObject({ kind: 'change', route: 'createRuntime', subject_id: id, status: 201, params: {} })
  expect(inside).toMatchObject({
    kind: 'inside',
    route: 'startCommand',
    params: { runtime_id: id },
    subject_id: started.json.command_id,
    key: { key_id, name: 'test' },
    status: 201,
    request_id: started.headers.get('x-request-id'),
    address: '127.0.0.1',
    count: 1,
  })
  expect(refused).toMatchObject({ route: 'revokeKey', status: 403, key: { key_id } })
  expect(text).not.toContain('a-canary')
  expect(text).not.toContain(key)
})

test('a terminal is logged with its answer, even if it was refused', async () => {
  const { ask, makeRuntime, makeKey, server } = await startTestServer()
  const runtime_id = await makeRuntime()
  const json = { command: 'sleep', background: true }
  const { command_id } = (await ask('POST', `/v1/agents/runtime/${runtime_id}/commands`, { json })).json
  const at = (id: string) => `${server.url}/v1/agents/runtime/${runtime_id}/commands/${id}/attach`
  const writer = await makeKey('runtime:write')
  const forbidden = (await attach(at(command_id), { key: writer.key })) as Refused
  const none = `cm${'a'.repeat(20)}`
  const missing = (await attach(at(none), { key: server.adminKey })) as Refused
  const open = (await attach(at(command_id), { key: server.adminKey })) as TestAttachment
  open.ws.terminate()
  const entries = async () => (await ask('GET', `${path}?route=attachCommand`)).json.data
  const about = (subject_id: string, status: number) => {
    return { kind: 'inside', params: { runtime_id, command_id: subject_id }, subject_id, status }
  }
  await expect.poll(entries).toMatchObject([
    { ...about(command_id, 101), request_id: expect.stringMatching(/^rq[a-z0-9]{20}$/) },
    { ...about(none, 404), request_id: missing.json.error.request_id },
    { ...about(command_id, 403), request_id: forbidden.json.error.request_id, key: { key_id: writer.key_id } },
  ])
})

test('a change of a port is logged for its runtime', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const runtime_id = await makeRuntime()
  const port = `/v1/agents/runtime/${runtime_id}/ports/8080`
  await ask('GET', port)
  await ask('PATCH', port, { json: { public: true } })
  await ask('POST', `${port}/rotate`)
  const { data } = (await ask('GET', `${path}?kind=inside`)).json
  const about = { params: { runtime_id, port: '8080' }, subject_id: runtime_id, status: 200 }
  expect(data).toHaveLength(3)
  for (const route of ['getPort', 'updatePort', 'rotatePort'])
    expect(data).toContainEqual(expect.objectContaining({ ...about, route }))
})

test('a change and its entry are one transaction', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const entries = await storedRows(server.stateDir, `SELECT * FROM audit WHERE subject_id = '${id}'`)
  // It is there before anything was flushed, whether or not it says yet what was answered.
  expect(entries).toMatchObject([{ route: 'createRuntime', project_id: expect.stringMatching(/^pr/) }])
})

test('a resource that is named by its name is logged by its id', async () => {
  const { ask } = await startTestServer()
  const { policy_id } = (await ask('POST', '/v1/agents/network-policy', { json: { name: 'web', include: ['npm'] } }))
    .json
  await ask('DELETE', '/v1/agents/network-policy/web')
  const { data } = (await ask('GET', `${path}?subject=${policy_id}`)).json
  expect(data.map(({ route, params }: AuditEntry) => [route, params])).toEqual([
    ['deletePolicy', { policy_id: 'web' }],
    ['createPolicy', {}],
  ])
})

type Named = readonly [kind: string, param: string, body: { readonly name: string }, change: object]

/** Things that paths name by id or name, and a change of each. */
const named: readonly Named[] = [
  ['project', 'project_id', { name: 'team' }, { quotas: { runtimes: 3 } }],
  ['network-policy', 'policy_id', { name: 'web', include: ['npm'] } as never, { name: 'web', include: ['pypi'] }],
  ['secret', 'secret_id', { name: 'token', value: 'v', hosts: ['a.example.com'] } as never, { value: 'w' }],
  [
    'identity-provider',
    'provider_id',
    { name: 'idp', type: 'workload', audience: 'a' } as never,
    { type: 'workload', audience: 'b' },
  ],
]

test.each(named)(
  'every call on a %s is found by its id and its name, including refused ones',
  async (kind, param, body, change) => {
    const { ask, makeKey } = await startTestServer()
    const reader = await makeKey('runtime:read')
    const made = await ask('POST', `/v1/agents/${kind}`, { json: body })
    const id: string = made.json[param]
    const method = kind === 'project' ? 'PATCH' : 'PUT'
    for (const by of [id, body.name]) {
      const at = `/v1/agents/${kind}/${by}`
      expect((await ask(method, at, { json: change })).status).toBe(200)
      expect((await ask(method, at, { json: { unknown: 1 } })).status).toBe(400)
      expect((await ask('DELETE', at, { key: reader.key })).status).toBe(403)
    }
    const statuses = async (subject: string) => {
      const { data } = (await ask('GET', `${path}?subject=${subject}`)).json
      return data.map(({ status }: AuditEntry) => status).toSorted()
    }
    const all = [200, 200, 201, 400, 400, 403, 403]
    expect([made.status, await statuses(id), await statuses(body.name)]).toEqual([201, all, all])
  },
)

test('a call that a state refused is logged with the id, even if the name is gone', async () => {
  const { ask } = await startTestServer()
  const { project_id } = (await ask('POST', '/v1/agents/project', { json: { name: 'team' } })).json
  const { key } = (await ask('POST', '/v1/agents/key', { json: { name: 'k', scopes: ['admin'], project: 'team' } }))
    .json
  await ask('POST', '/v1/agents/network-policy', { key, json: { name: 'web', include: ['npm'] } })
  expect((await ask('DELETE', '/v1/agents/project/team')).status).toBe(409)
  await ask('DELETE', '/v1/agents/network-policy/web', { key })
  expect((await ask('DELETE', '/v1/agents/project/team')).status).toBe(204)
  const { data } = (await ask('GET', `${path}?subject=${project_id}&route=deleteProject`)).json
  const about = { params: { project_id: 'team' }, subject_id: project_id }
  expect(data).toMatchObject([about, about])
})

test('a template is found by its id, its name and its name with the tag', async () => {
  const { ask, makeKey } = await startTestServer()
  const reader = await makeKey('template:read')
  const { template_id } = (await ask('GET', '/v1/agents/template/base-small')).json
  const references = [template_id, 'base-small', 'base-small:latest']
  for (const reference of references) {
    expect((await ask('DELETE', `/v1/agents/template/${reference}`)).status).toBe(409)
    expect((await ask('DELETE', `/v1/agents/template/${reference}`, { key: reader.key })).status).toBe(403)
  }
  const statuses = async (subject: string) => {
    const { data } = (await ask('GET', `${path}?subject=${subject}&route=deleteTemplate`)).json
    return data.map(({ status }: AuditEntry) => status).toSorted()
  }
  expect(await statuses(template_id)).toEqual([403, 403, 403, 409, 409, 409])
  expect(await statuses('base-small:latest')).toEqual([403, 403, 409, 409, 409])
})

test('the name of a resource of another project matches nothing without the scope operator', async () => {
  const { ask, makeKey } = await startTestServer()
  const { project_id } = (await ask('POST', '/v1/agents/project', { json: { name: 'team' } })).json
  const { key } = await makeKey('admin')
  const found = async () => (await ask('GET', `${path}?subject=team`, { key })).json.data
  expect((await ask('DELETE', `/v1/agents/project/${project_id}`, { key })).status).toBe(403)
  expect(await found()).toEqual([])
})

test('calls on and inside a runtime are found by its id and its name', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const id = await makeRuntime({ name: 'mine' })
  const other = await makeRuntime({ name: 'mine2' })
  for (const each of [other, id])
    await ask('POST', `/v1/agents/runtime/${each}/commands`, { json: { command: 'true', background: true } })
  await ask('DELETE', `/v1/agents/runtime/${id}`)
  for (const subject of [id, 'mine']) {
    const { data } = (await ask('GET', `${path}?subject=${subject}`)).json
    const routes = data.map(({ route }: AuditEntry) => route)
    expect(routes.toSorted()).toEqual(['createRuntime', 'deleteRuntime', 'startCommand'])
  }
  for (const none of ['min', 'MINE', '%'])
    expect((await ask('GET', `${path}?subject=${encodeURIComponent(none)}`)).json.data).toEqual([])
})

test('a call of an operator is in the log of the changed project, without key and address', async () => {
  const { ask, server } = await startTestServer()
  await ask('POST', '/v1/agents/project', { json: { name: 'team' } })
  const admin = { name: 'k', scopes: ['admin'], project: 'team' }
  const { key } = (await ask('POST', '/v1/agents/key', { json: admin })).json
  const { json, headers } = await ask('POST', '/v1/agents/key', { json: { ...admin, name: 'ended' } })
  await ask('DELETE', `/v1/agents/key/${json.key_id}`)
  await ask('PATCH', '/v1/agents/project/team', { json: { quotas: { runtimes: 3 } } })
  const { text, json: seen } = await ask('GET', path, { key })
  expect(seen.data.map(({ route, status }: AuditEntry) => [route, status])).toEqual([
    ['updateProject', 200],
    ['revokeKey', 204],
    ['createKey', 201],
    ['createKey', 201],
    ['createProject', 201],
  ])
  for (const entry of seen.data) expect(entry).toMatchObject({ key: null, address: 'operator' })
  expect(seen.data[2]).toMatchObject({ subject_id: json.key_id, request_id: headers.get('x-request-id') })
  expect(text).not.toContain(server.adminKey)
  // The operator's own log says whose key it was.
  const own = (await ask('GET', `${path}?route=updateProject`)).json.data
  expect(own).toMatchObject([{ key: { name: 'admin of this machine' }, address: '127.0.0.1' }])
})

test('calls without a valid key are counted by address', async () => {
  // Those are counted as well that are told to stop.
  const server = await startTestServer({ monotonic: () => 0, failureRate: { perSec: 1, burst: 1 } })
  for (const key of [null, 'holt_wrong', 'holt_wrong']) await server.ask('GET', '/v1/agents/runtime', { key })
  const again = await server.restart()
  const rows = await storedRows(again.stateDir, "SELECT * FROM audit WHERE kind = 'auth_failed'")
  expect(rows).toMatchObject([{ project_id: null, address: '127.0.0.1', count: 3, status: 401 }])
})

/**
 * Asks for a runtime and vanishes before the service, which stands still meanwhile, knows of the
 * connection.
 */
function askAndVanish(url: string, key: string): void {
  const { hostname, port } = new URL(url)
  const request = `POST /v1/agents/runtime HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer ${key}\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}`
  const program = `const socket = require('net').connect(${port}, '${hostname}', () => socket.write('${request}', () => socket.resetAndDestroy()))`
  expect(spawnSync(process.execPath, ['-e', program], { timeout: 30_000 }).status).toBe(0)
}

test('a client that disconnects before its address is read delays nothing', async () => {
  const { ask, makeRuntime, server } = await startTestServer()
  askAndVanish(server.url, server.adminKey)
  const id = await makeRuntime()
  await ask('POST', `/v1/agents/runtime/${id}/commands`, { json: { command: 'true', background: true } })
  const routesOf = async () => ((await ask('GET', path)).json.data as AuditEntry[]).map(({ route }) => route)
  await expect.poll(routesOf, { timeout: 20_000 }).toContain('startCommand')
})

test('an entry that the store refuses is dropped, and the entries beside it are written', async () => {
  const store = await openTestStore()
  const { log, logged } = keepingLog()
  const audit = new AuditLog(store, log, () => 0)
  const begin = (address: string | null) =>
    audit.begin({
      projectId: null,
      kind: 'change',
      key: null,
      address: address as string,
      route: 'createKey',
      params: {},
      requestId: null,
    })
  for (const address of ['one', null, 'two']) begin(address)
  await audit.flush()
  const rows = await store.db.selectFrom('audit').select('address').orderBy('seq').execute()
  expect(rows.map(({ address }) => address)).toEqual(['one', 'two'])
  const told = () => logged.filter(({ message }) => message.includes('was dropped'))
  expect(told()).toHaveLength(1)
  begin('three')
  await audit.flush()
  expect(told()).toHaveLength(1)
  await audit.close()
  await store.close()
})

test('a store that is away is tried every five seconds, and gets all entries when it is back', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const store = await openTestStore()
  let isAway = true
  const change: typeof store.change = async (...asked) => {
    if (isAway) throw new Error('the store is away')
    return store.change(...asked)
  }
  const { log, logged } = keepingLog()
  const audit = new AuditLog({ ...store, change }, log, () => 0)
  const call = {
    projectId: null,
    kind: 'inside',
    key: null,
    route: 'startCommand',
    params: {},
    requestId: null,
  } as const
  for (const address of ['one', 'two', 'three']) {
    audit.begin({ ...call, address })
    await vi.advanceTimersByTimeAsync(4_000)
  }
  expect(logged.filter(({ message }) => message.includes('could not be written'))).toHaveLength(3)
  isAway = false
  vi.useRealTimers()
  await audit.flush()
  const rows = await store.db.selectFrom('audit').select('address').orderBy('seq').execute()
  expect(rows.map(({ address }) => address)).toEqual(['one', 'two', 'three'])
  await audit.close()
  await store.close()
})

test('a call that ends while its entry is written completes the entry afterwards, once', async () => {
  const store = await openTestStore()
  const seen: (number | null)[] = []
  let end = () => {}
  const change: typeof store.change = async (scope, work, ...more) => {
    end()
    const result = await store.change(scope, work, ...more)
    const rows = await store.db.selectFrom('audit').select('status').execute()
    seen.push(...rows.map(({ status }) => status))
    return result
  }
  const audit = new AuditLog({ ...store, change }, keepingLog().log, () => 0)
  const call = {
    projectId: null,
    kind: 'inside',
    key: null,
    route: 'startCommand',
    params: {},
    requestId: null,
  } as const
  const entry = audit.begin({ ...call, address: '127.0.0.1' })
  end = () => {
    end = () => {}
    audit.end(entry, 200)
  }
  await audit.flush()
  await audit.flush()
  await audit.flush()
  expect(seen).toEqual([null, 200])
  await audit.close()
  await store.close()
})

test('a project that floods the log loses its own entries, which is logged, and others lose none', async () => {
  const store = await openTestStore()
  const { log, logged } = keepingLog()
  const audit = new AuditLog(store, log, () => 0, { all: 8, project: 4 })
  const begin = (projectId: string, times: number) => {
    const call = {
      kind: 'inside',
      key: null,
      address: 'a',
      route: 'startCommand',
      params: {},
      requestId: null,
    } as const
    return Array.from({ length: times }, () => audit.begin({ ...call, projectId }))
  }
  const written = async () => {
    await audit.flush()
    const rows = await store.db.selectFrom('audit').select(['project_id', 'status']).orderBy('seq').execute()
    return rows.map(({ project_id, status }) => `${project_id} ${status}`)
  }
  const told = () => logged.flatMap(({ message, facts }) => (message.includes('were lost') ? [facts] : []))
  const [kept] = begin('flood', 20)
  begin('quiet', 3)
  // Waiting entries can be completed.
  if (kept !== undefined) audit.end(kept, 201)
  const first = ['flood 201', ...Array(3).fill('flood null'), ...Array(3).fill('quiet null')]
  expect(await written()).toEqual(first)
  expect(told()).toEqual([{ entries: 16, project_ids: ['flood'] }])
  for (const projectId of ['flood', 'flood too', 'quiet']) begin(projectId, 4)
  expect(await written()).toEqual([...first, ...Array(4).fill('flood null'), ...Array(4).fill('flood too null')])
  expect(told()[1]).toEqual({ entries: 4, project_ids: ['quiet'] })
  await audit.close()
  await store.close()
})

test('calls without a valid key are logged within a minute as one entry', async () => {
  const store = await openTestStore()
  let now = 0
  const audit = new AuditLog(store, keepingLog().log, () => now)
  const fail = (times: number) => {
    for (let count = 0; count < times; count += 1) audit.failedAuthentication('127.0.0.1')
  }
  const rows = () => store.db.selectFrom('audit').select(['at', 'count', 'last_at']).orderBy('seq').execute()
  fail(2)
  // By itself, too: nobody has to ask.
  await expect.poll(rows, { timeout: 30_000 }).toEqual([{ at: 0, count: 2, last_at: 0 }])
  now = 59_999
  fail(1)
  await audit.flush()
  const first = { at: 0, count: 3, last_at: 59_999 }
  expect(await rows()).toEqual([first])
  now = 60_000
  fail(1)
  await audit.flush()
  expect(await rows()).toEqual([first, { at: 60_000, count: 1, last_at: 60_000 }])
  await audit.close()
  await store.close()
})

test('a reader of the log sees the calls without a valid key up to now', async () => {
  const { ask } = await startTestServer()
  for (const count of [1, 2]) {
    await ask('GET', '/v1/agents/runtime', { key: 'holt_wrong' })
    expect((await ask('GET', `${path}?project=all&kind=auth_failed`)).json.data).toMatchObject([{ count }])
  }
})

test('filters and pages select entries', async () => {
  const { ask, makeRuntime, makeKey } = await startTestServer()
  const since = new Date().toISOString()
  const ids = [await makeRuntime(), await makeRuntime(), await makeRuntime()]
  await makeKey('runtime:read')
  const first = (await ask('GET', `${path}?route=createRuntime&limit=2`)).json
  const second = (await ask('GET', `${path}?route=createRuntime&limit=2&cursor=${first.next_cursor}`)).json
  expect([...first.data, ...second.data].map(({ subject_id }) => subject_id)).toEqual([...ids].reverse())
  expect((await ask('GET', `${path}?kind=inside`)).json.data).toEqual([])
  expect((await ask('GET', `${path}?until=${since}`)).json.data).toEqual([])
  expect((await ask('GET', `${path}?since=${since}`)).json.data).toHaveLength(4)
})

test('an operator can name a project, and an unknown name is an error', async () => {
  const { ask } = await startTestServer()
  const { project_id } = (await ask('POST', '/v1/agents/project', { json: { name: 'team' } })).json
  const { key } = (await ask('POST', '/v1/agents/key', { json: { name: 'k', scopes: ['admin'], project: 'team' } }))
    .json
  await ask('POST', '/v1/agents/key', { key, json: { name: 'other', scopes: ['admin'] } })
  const byName = (await ask('GET', `${path}?project=team`)).json
  const by = byName.data.map(({ route, address }: AuditEntry) => [route, address])
  expect(by).toEqual([
    ['createKey', '127.0.0.1'],
    ['createKey', 'operator'],
    ['createProject', 'operator'],
  ])
  for (const entry of byName.data) expect(entry).toMatchObject({ project_id })
  expect((await ask('GET', `${path}?project=${project_id}`)).json).toEqual(byName)
  expect((await ask('GET', `${path}?project=nobody`)).json.error.code).toBe('project_not_found')
})

test('only an operator sees other projects, and no route changes an entry', async () => {
  const { ask, makeKey } = await startTestServer()
  const admin = await makeKey('admin')
  for (const project of ['all', `pr${'a'.repeat(20)}`])
    expect((await ask('GET', `${path}?project=${project}`, { key: admin.key })).status).toBe(403)
  const changing = Object.values<Route>(routes).filter((route) => route.path.startsWith(path) && route.method !== 'GET')
  expect(changing).toEqual([])
})

test('every changing route is audited', () => {
  const audited = Object.entries<Route>(routes).filter(([, route]) => auditKindOf(route) !== null)
  const silent = Object.entries<Route>(routes).filter(
    ([, { method, scope }]) => method !== 'GET' && scope !== null && !scope.endsWith(':read'),
  )
  const names = audited.map(([name]) => name)
  for (const [name] of silent) expect(names).toContain(name)
  expect(names).toEqual(expect.arrayContaining(['attachCommand', 'getPort']))
  expect(names).not.toContain('searchFiles')
})

test('entries are removed by age, and the oldest of a kind by count', async () => {
  const server = await startTestServer()
  for (let count = 0; count < 5; count += 1) await server.makeKey('runtime:read')
  await server.close()
  const store = await openTestStore(server.stateDir)
  const routesLeft = async () => (await store.db.selectFrom('audit').select(['kind', 'subject_id']).execute()).length
  const kept = { days: 400, change: 3, inside: 3, auth_failed: 3 }
  expect(await new OldAudit({ store, now: Date.now }, kept as never).removeSome()).toBe(false)
  expect(await routesLeft()).toBe(3)
  await new OldAudit({ store, now: () => Date.now() + 401 * 24 * 3600 * 1000 }).removeSome()
  expect(await routesLeft()).toBe(0)
  await store.close()
})

test('surplus entries of a long log are removed in steps, after one count', async () => {
  const store = await openTestStore()
  const entry = {
    kind: 'inside',
    at: Date.now(),
    address: '127.0.0.1',
    params_json: '{}',
    count: 1,
    last_at: 1,
  } as const
  const write = async (from: number, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => ({ ...entry, audit_id: `au${from + index}` }))
    for (let at = 0; at < rows.length; at += 500)
      await store.db
        .insertInto('audit')
        .values(rows.slice(at, at + 500))
        .execute()
  }
  const left = async () =>
    Number(
      (
        await store.db
          .selectFrom('audit')
          .select(({ fn }) => fn.countAll().as('rows'))
          .executeTakeFirstOrThrow()
      ).rows,
    )
  await write(0, 4500)
  const old = new OldAudit({ store, now: Date.now }, { days: 400, inside: 10 } as never)
  expect([await old.removeSome(), await left()]).toEqual([true, 2500])
  // Entries that are written meanwhile belong to the next count.
  await write(4500, 20)
  expect([await old.removeSome(), await left()]).toEqual([true, 520])
  expect([await old.removeSome(), await left()]).toEqual([false, 30])
  expect([await old.removeSome(), await left()]).toEqual([false, 10])
  await store.close()
})
