import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { existingRuntime } from '../src/index.ts'
import { openClient, revisions, textOf } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const names = async (how: Parameters<typeof openClient>[1]) =>
  (await (await openClient(service, how)).client.listTools()).tools.map(({ name }) => name)

describe.each(revisions)('revision %s', (revision) => {
  test('a key sees only the tools that its scopes allow', async () => {
    expect(await names({ revision, scopes: ['runtime:read'] })).toEqual([
      'list_runtimes',
      'read_output',
      'read_code_output',
      'list_code_contexts',
      'read_file',
      'list_files',
      'search_files',
      'diff_files',
      'network_log',
      'suggest_network_policy',
    ])
    expect(await names({ revision, scopes: ['template:read'] })).toEqual(['list_templates'])
    expect(await names({ revision, scopes: ['operator'] })).toEqual([])
  })

  test('a tool that the key may not use cannot be called', async () => {
    const { call } = await openClient(service, { revision, scopes: ['runtime:read'] })
    await expect(call('create_runtime')).rejects.toThrow(/create_runtime/)
    expect(service.count('createRuntime')).toBe(0)
  })

  test('a session that is bound to a runtime has tools for it alone', async () => {
    const { holt } = await openClient(service)
    const mine = await holt.runtimes.create({ name: 'mine' })
    const other = await holt.runtimes.create({ name: 'other' })
    const bound = await openClient(service, { revision, bound: (one) => existingRuntime(one, mine.runtime_id) })
    const { tools } = await bound.client.listTools()
    expect(tools.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['create_runtime']))
    for (const { inputSchema } of tools) expect(Object.keys(inputSchema.properties ?? {})).not.toContain('runtime')
    await bound.text('write_file', { path: '/a', content: 'x' })
    expect(await mine.files.readText('/a')).toBe('x')
    expect((await bound.call('write_file', { runtime: other.runtime_id, path: '/a', content: 'x' })).isError).toBe(true)
    expect(await other.files.exists('/a')).toBe(false)
  })
})

test('every tool says what it does, and closes its arguments', async () => {
  const { client } = await openClient(service)
  const { tools } = await client.listTools()
  expect(tools.length).toBeGreaterThan(30)
  for (const { name, title, description, annotations, inputSchema } of tools) {
    expect([name, title, description]).toEqual([
      expect.stringMatching(/^[a-z_]+$/),
      expect.any(String),
      expect.any(String),
    ])
    expect(annotations, name).toMatchObject({ readOnlyHint: expect.any(Boolean), openWorldHint: expect.any(Boolean) })
    if (annotations?.readOnlyHint === false)
      expect(annotations, name).toMatchObject({
        destructiveHint: expect.any(Boolean),
        idempotentHint: expect.any(Boolean),
      })
    expect(inputSchema, name).toMatchObject({ type: 'object', additionalProperties: false })
    for (const [field, schema] of Object.entries(inputSchema.properties ?? {}))
      expect([name, field, (schema as { description?: string }).description]).toEqual([name, field, expect.any(String)])
  }
})

test('creates, lists, snapshots, forks, resumes and deletes runtimes', async () => {
  const { call, text } = await openClient(service)
  const made = JSON.parse(await text('create_runtime', { name: 'mine', env: { A: '1' } }))
  expect(made).toMatchObject({ name: 'mine', state: 'running', template: 'base-small', network: false })
  expect(await text('list_runtimes', { name: 'mine' })).toContain(made.runtime_id)
  expect(await text('list_runtimes', { name: 'none' })).toBe('There is no such runtime.')
  const record_files = true
  expect(JSON.parse(await text('snapshot_runtime', { runtime: 'mine', name: 'before', record_files }))).toMatchObject({
    name: 'before',
    record_files,
  })
  expect(service.calls.at(-1)?.body).toMatchObject({ record_files })
  const forks = (await text('fork_runtime', { runtime: 'mine', count: 2, record_files }))
    .split('\n')
    .map((one) => JSON.parse(one))
  expect(service.calls.at(-1)?.body).toMatchObject({ record_files })
  expect(forks).toHaveLength(2)
  const [{ runtime_id: child }] = forks
  service.childErrors.push({ code: 'quota_exceeded', message: 'No more runtimes.', hint: 'Delete some.' })
  expect(await call('fork_runtime', { runtime: child })).toMatchObject({ isError: true })
  Object.assign(service.runtimes.get(child) ?? {}, { state: 'paused' })
  expect(await text('resume_runtime', { runtime: child })).toContain('"running"')
  expect(await text('delete_runtime', { runtime: made.runtime_id })).toBe(`Deleted ${made.runtime_id}.`)
  expect(service.runtimes.get(made.runtime_id)).toMatchObject({ state: 'terminated' })
})

test('an error has the code, a remedy that is a tool, and the id of the request', async () => {
  const { call } = await openClient(service)
  const missing = await call('read_file', { runtime: 'rt00000000000000000000', path: '/a' })
  expect(missing.isError).toBe(true)
  expect(textOf(missing)).toMatch(/\ncode: runtime_not_found\nhint: Call list_runtimes.*\nrequest id: rq0{20}$/)
})

test('wrong arguments are an error that the model can read', async () => {
  const { call } = await openClient(service)
  for (const args of [{ runtime: 'mine', path: 'relative' }, { runtime: 'mine', path: '/a', lines: 3 }, { path: '/a' }])
    expect(await call('read_file', args)).toMatchObject({ isError: true })
  expect(service.calls).toEqual([])
})
