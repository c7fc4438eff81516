import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type CreateRuntimeInput, type ErrorCode, Key, NewKey, pageOf, Runtime, routes, Template } from '@holt/protocol'
import { describe, expect, it } from 'vitest'
import { anyFailure, call, failure, pointersOf, runtimesPath, success } from './support/api.ts'
import { classes, describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { cgroupsOf, processesOf } from './support/host.ts'
import { createRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const Page = pageOf(Runtime)
const absent = `rt${'a'.repeat(20)}`

describe('a runtime', () => {
  it('has the documented defaults', async () => {
    await using runtime = await createRuntime()
    expect(runtime.data).toMatchObject({
      name: null,
      state: 'running',
      state_reason: null,
      template: { name: 'base-small' },
      snapshot_id: null,
      cloud: 'aws',
      region: 'us-east-1',
      isolation: 'gvisor',
      cpu: 1,
      memory_mib: 1024,
      disk_mib: 4096,
      env: {},
      metadata: {},
      timeout_secs: 3600,
      on_timeout: 'pause',
      idle_timeout_secs: null,
      auto_resume: true,
    })
    expect(Date.parse(runtime.data.expires_at ?? '') - Date.parse(runtime.data.created_at)).toBe(3_600_000)
    expect(runtime.id).toMatch(/^rt[a-z0-9]{20}$/)
    expect(await runtime.refresh()).toEqual(runtime.data)
    expect(await runtime.run('pwd; id -un; echo $HOME')).toMatchObject({
      stdout: '/workspace\nuser\n/home/user\n',
      exit_code: 0,
    })
  })

  it('is created from a template by name, name:tag and id', async () => {
    const { data } = success(await call('GET', '/v1/agents/template'), 200, pageOf(Template))
    expect(
      data.map(({ name, state, cpu, memory_mib, disk_mib }) => ({ name, state, cpu, memory_mib, disk_mib })),
    ).toEqual(
      expect.arrayContaining([
        { name: 'base-small', state: 'ready', cpu: 1, memory_mib: 1024, disk_mib: 4096 },
        { name: 'base-medium', state: 'ready', cpu: 2, memory_mib: 4096, disk_mib: 8192 },
        { name: 'base-large', state: 'ready', cpu: 4, memory_mib: 8192, disk_mib: 16384 },
      ]),
    )
    const medium = data.find(({ name }) => name === 'base-medium')
    for (const template of ['base-medium', `base-medium:${medium?.tag}`, medium?.template_id ?? '']) {
      await using runtime = await createRuntime({ template })
      expect(runtime.data).toMatchObject({
        template: { name: 'base-medium', template_id: medium?.template_id },
        memory_mib: 4096,
      })
    }
    expect(success(await call('GET', '/v1/agents/template/base-small'), 200, Template).facts.python).toBeDefined()
    failure(await call('GET', '/v1/agents/template/nothing'), 'template_not_found')
  })

  it('ends when it is deleted; a repeated delete succeeds, and it is then read-only', async () => {
    const runtime = await createRuntime()
    await runtime.delete()
    expect(processesOf(runtime.id)).toEqual([])
    expect(cgroupsOf(runtime.id)).toEqual([])
    await runtime.delete()
    expect((await runtime.refresh()).state).toBe('terminated')
    failure(await call('PATCH', runtime.path, { json: { metadata: {} } }), 'runtime_terminated')
    failure(await runtime.call('GET', '/commands'), 'runtime_terminated')
    failure(await runtime.call('GET', '/files/stat', { query: { path: '/' } }), 'runtime_terminated')
  })

  it('ends at its deadline, which can be moved', async () => {
    const runtime = await createRuntime({ timeout_secs: 600, on_timeout: 'terminate' })
    expect(Date.parse(runtime.data.expires_at ?? '') - Date.parse(runtime.data.created_at)).toBeCloseTo(600_000, -4)
    const moved = success(await call('PATCH', runtime.path, { json: { timeout_secs: 1 } }), 200, Runtime)
    expect(moved.timeout_secs).toBe(1)
    await until('it has ended', async () => (await runtime.refresh()).state === 'terminated', 30_000)
    expect(cgroupsOf(runtime.id)).toEqual([])
  })

  it('loses its deadline on request', async () => {
    await using runtime = await createRuntime({ timeout_secs: 600 })
    expect(success(await call('PATCH', runtime.path, { json: { timeout_secs: null } }), 200, Runtime)).toMatchObject({
      timeout_secs: null,
      expires_at: null,
    })
  })

  it('has a name that no other live runtime has', async () => {
    const body = { name: 'the-one' }
    const first = await createRuntime(body)
    failure(await call('POST', runtimesPath, { json: body }), 'name_taken')
    await first.delete()
    await using second = await createRuntime(body)
    expect(second.data.name).toBe('the-one')
    expect(await second.run('hostname')).toMatchObject({ stdout: 'the-one\n' })
  })

  it('replaces its metadata as a whole', async () => {
    await using runtime = await createRuntime({ metadata: { a: '1', b: '2' } })
    expect(
      success(await call('PATCH', runtime.path, { json: { metadata: { c: '3' } } }), 200, Runtime).metadata,
    ).toEqual({ c: '3' })
  })

  it('is created once for one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const first = await call('POST', runtimesPath, { json: { metadata: { once: '1' } }, headers })
    const second = await call('POST', runtimesPath, { json: { metadata: { once: '1' } }, headers })
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.text).toBe(first.text)
    failure(await call('POST', runtimesPath, { json: { metadata: { once: '2' } }, headers }), 'idempotency_mismatch')
    await call('DELETE', `${runtimesPath}/${success(first, 201, Runtime).runtime_id}`)
  })

  it('leaves events', async () => {
    const runtime = await createRuntime()
    await runtime.delete()
    using store = new DatabaseSync(join(service.stateDir, 'holt.db'), { readOnly: true })
    const rows = store.prepare('select type from events where subject_id = ? order by seq').all(runtime.id)
    const types = rows.map(({ type }) => String(type))
    expect(types[0]).toMatch(/^runtime\./)
    expect(types.length).toBeGreaterThanOrEqual(3)
    expect(types.at(-1)).toContain('terminated')
  })
})

describeClasses('sizes', (isolation) => {
  it('has the requested size', async () => {
    await using runtime = await createRuntime({ isolation, cpu: 0.5, memory: '512MiB', disk: 5 })
    expect(runtime.data).toMatchObject({ cpu: 0.5, memory_mib: 512, disk_mib: 5120, isolation })
    if (isolation === 'container') {
      const [total = Number.NaN] = (await runtime.sh('df -BM --output=size / | tail -1')).trim().split('M').map(Number)
      expect(total).toBeLessThanOrEqual(5120)
      expect(total).toBeGreaterThan(4500)
    }
  })

  it('env reaches every command, and a command can change it for itself', async () => {
    await using runtime = await createRuntime({
      isolation,
      env: { A: 'of the runtime', B: 'ünïcode "quotes" $A\nlines' },
    })
    const printed = await runtime.run(['printenv', 'A', 'B'], { env: { A: 'of the command' } })
    expect(printed.stdout).toBe('of the command\nünïcode "quotes" $A\nlines\n')
    expect((await runtime.run(['printenv', 'A'])).stdout).toBe('of the runtime\n')
  })
})

describe('a list', () => {
  it('pages newest first and filters by every parameter', async () => {
    const group = crypto.randomUUID()
    const made = []
    for (const [index, isolation] of [...classes, 'container' as const].entries()) {
      if (service.unavailable[isolation] !== null) continue
      made.push(await createRuntime({ isolation, name: `list-${index}`, metadata: { group, index: String(index) } }))
    }
    const ids = made.map(({ id }) => id).reverse()
    const list = async (query: Record<string, string>) => success(await call('GET', runtimesPath, { query }), 200, Page)
    const read = async (query: Record<string, string>) => (await list(query)).data.map(({ runtime_id }) => runtime_id)
    expect(await read({ 'metadata.group': group })).toEqual(ids)
    expect(await read({ 'metadata.group': group, 'metadata.index': '0' })).toEqual(ids.slice(-1))
    expect(await read({ 'metadata.group': group, isolation: 'gvisor' })).toEqual(
      made.filter(({ data }) => data.isolation === 'gvisor').map(({ id }) => id),
    )
    expect(await read({ name: 'list-0', state: 'running' })).toEqual(ids.slice(-1))
    expect(await read({ 'metadata.group': group, template: 'base-medium' })).toEqual([])
    expect(await read({ 'metadata.group': group, state: 'failed' })).toEqual([])

    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({
        'metadata.group': group,
        limit: '1',
        ...(cursor === null ? {} : { cursor }),
      })
      expect(page.data.length).toBeLessThanOrEqual(1)
      seen.push(...page.data.map(({ runtime_id }) => runtime_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual(ids)
    failure(await call('GET', runtimesPath, { query: { cursor: 'nonsense' } }), 'invalid_request')
    await Promise.all(made.map((runtime) => runtime.delete()))
  })
})

const refused: readonly (readonly [body: unknown, code: ErrorCode, pointers?: readonly string[]])[] = [
  [{ template: 'nothing' }, 'template_not_found'],
  [{ cloud: 'gcp' }, 'unsupported_setting'],
  [{ region: 'eu-north-7' }, 'unsupported_setting'],
  [{ disk: 1 }, 'disk_too_small'],
  [{ disk: '4095MiB' }, 'disk_too_small'],
  [{ memory: '64TB' }, 'invalid_request', ['/memory']],
  [
    { cpu: 0, memory: 'much', disk: -1, name: 'No', env: { '1': 'x' }, nonsense: 1 },
    'invalid_request',
    ['/cpu', '/disk', '/env/1', '/memory', '/name', '/nonsense'],
  ],
  [{ isolation: 'microvm' }, 'invalid_request', ['/isolation']],
  [{ env: { A: 'a\0b' } }, 'invalid_request', ['/env/A']],
  [{ timeout_secs: 0 }, 'invalid_request', ['/timeout_secs']],
  [[], 'invalid_request'],
  ['text', 'invalid_request'],
]

describe('a create is refused', () => {
  it.each(refused.map(([body, code, pointers]) => ({ body, code, pointers })))(
    '$body',
    async ({ body, code, pointers }) => {
      const error = failure(await call('POST', runtimesPath, { json: body as CreateRuntimeInput }), code)
      if (pointers !== undefined) expect(pointersOf(error)).toEqual(pointers)
    },
  )

  it('for more memory than the host has', async () => {
    failure(await call('POST', runtimesPath, { json: { memory: '4TiB' } }), 'unsupported_setting')
  })
})

describe('a missing resource', () => {
  it.each([absent, 'nonsense', '%00', 'rt', `${absent}x`, '..%2f..%2fetc'])(
    'runtime %s is the same 404 on every route',
    async (id) => {
      failure(await call('GET', `${runtimesPath}/${id}`), 'runtime_not_found')
      failure(await call('DELETE', `${runtimesPath}/${id}`), 'runtime_not_found')
      failure(await call('POST', `${runtimesPath}/${id}/commands`, { json: { command: 'true' } }), 'runtime_not_found')
      failure(await call('GET', `${runtimesPath}/${id}/files/stat`, { query: { path: '/' } }), 'runtime_not_found')
    },
  )

  it('an unknown route is 404 and another method 405', async () => {
    failure(await call('GET', '/v1/agents/nothing'), 'route_not_found')
    failure(await call('GET', '/'), 'route_not_found')
    expect(failure(await call('PUT', runtimesPath), 'method_not_allowed')).toBeDefined()
  })
})

describe('keys', () => {
  it('allow their scopes, until they are revoked', async () => {
    const reader = success(
      await call('POST', '/v1/agents/key', { json: { name: 'reader', scopes: ['runtime:read'] } }),
      201,
      NewKey,
    )
    success(await call('GET', runtimesPath, { key: reader.key }), 200, Page)
    expect(failure(await call('POST', runtimesPath, { key: reader.key, json: {} }), 'forbidden').details).toMatchObject(
      { scope: 'runtime:write' },
    )
    failure(await call('GET', '/v1/agents/key', { key: reader.key }), 'forbidden')
    const { data } = success(await call('GET', '/v1/agents/key'), 200, pageOf(Key.strict()))
    expect(data.find(({ key_id }) => key_id === reader.key_id)).toMatchObject({
      name: 'reader',
      scopes: ['runtime:read'],
    })
    expect(JSON.stringify(data)).not.toContain(reader.key)

    expect((await call('DELETE', `/v1/agents/key/${reader.key_id}`)).status).toBe(204)
    failure(await call('GET', runtimesPath, { key: reader.key }), 'unauthenticated')
  })

  it('expire at their time', async () => {
    const expires_at = new Date(Date.now() + 1_000).toISOString()
    const brief = success(await call('POST', '/v1/agents/key', { json: { name: 'brief', expires_at } }), 201, NewKey)
    await until('it has ended', async () => (await call('GET', runtimesPath, { key: brief.key })).status === 401)
    await call('DELETE', `/v1/agents/key/${brief.key_id}`)
  })

  it('lose their open streams within a second of being revoked', async () => {
    await using runtime = await createRuntime()
    const key = success(await call('POST', '/v1/agents/key', { json: { name: 'streamer' } }), 201, NewKey)
    const following = runtime.call('POST', '/commands', {
      key: key.key,
      json: { command: 'echo begun; sleep 60' },
      headers: { accept: 'application/x-ndjson' },
      timeoutMs: 20_000,
    })
    const outcome = following.then(
      ({ text }) => text.includes('"end"'),
      () => 'cut',
    )
    await until('it runs', async () => (await runtime.call('GET', '/commands')).text.includes('"running"'))
    await call('DELETE', `/v1/agents/key/${key.key_id}`)
    expect(await outcome).not.toBe(true)
    // The command itself goes on: the key opened the stream, not the process.
    expect((await runtime.call('GET', '/commands')).text).toContain('"running"')
  })

  it('that are wrong or missing get the same answer on every route', async () => {
    const strip = (text: string) => text.replaceAll(/rq[a-z0-9]{20}/g, 'rq')
    const wrong: readonly Readonly<Record<string, string>>[] = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Basic ${service.key}` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${service.key}x` },
    ]
    const refusals = await Promise.all(wrong.map((headers) => call('GET', runtimesPath, { key: null, headers })))
    const expected = refusals.map(({ text }) => strip(text))
    const guarded = Object.values(routes).filter(({ scope }) => scope !== null)
    // A route gets one of them, and the next route the next: an address may be wrong two hundred
    // times in a row.
    for (const [index, { method, path }] of guarded.entries()) {
      const which = index % wrong.length
      const headers = wrong[which] ?? {}
      const answer = await call(method, path.replaceAll(/\{\w+\}/g, absent), { key: null, headers })
      expect(anyFailure(answer).code, `${method} ${path}`).toBe('unauthenticated')
      expect(strip(answer.text)).toBe(expected[which])
    }
  })
})
