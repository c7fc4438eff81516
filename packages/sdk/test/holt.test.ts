import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findCredentials } from '../src/credentials.ts'
import { Holt, type HoltConnectionError, HoltError, type Retry } from '../src/index.ts'
import { startTestService, TestService } from './support/test-service.ts'

let service: TestService
let holt: Holt
beforeEach(async () => {
  service = await startTestService()
  holt = new Holt({ url: service.url, apiKey: service.key })
})
afterEach(() => service.close())

describe('runtimes', () => {
  test('creates, reads, changes and deletes a runtime', async () => {
    const runtime = await holt.runtimes.create({ name: 'one', metadata: { team: 'a' } })
    expect(runtime).toMatchObject({ name: 'one', state: 'running' })
    await runtime.update({ metadata: { team: 'b' } })
    expect(runtime.metadata).toEqual({ team: 'b' })
    await runtime.delete()
    await runtime.refresh()
    expect(runtime.state).toBe('terminated')
    expect(JSON.parse(JSON.stringify(runtime))).toEqual(service.runtimes.get(runtime.runtime_id))
  })

  test('a dry run returns the planned runtime or every reason for a refusal, and creates nothing', async () => {
    expect(await holt.runtimes.dryRun({ memory: 2 })).toMatchObject({
      would_create: true,
      template: { name: 'base-small' },
      memory_mib: 2048,
      problems: [],
    })
    const { would_create, problems } = await holt.runtimes.dryRun({ template: 'none', memory: 9 })
    expect([would_create, problems.map(({ code }) => code)]).toEqual([false, ['template_not_found', 'quota_exceeded']])
    expect(service.runtimes.size).toBe(0)
    expect(service.calls.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined])
  })

  test('a dry run with a lost answer is repeated', async () => {
    service.faults.push({ route: 'createRuntime', type: 'lose' })
    expect((await holt.runtimes.dryRun()).would_create).toBe(true)
    expect(service.count('createRuntime')).toBe(2)
  })

  test('create refuses the option dry_run', async () => {
    const body = { dry_run: true }
    await expect(holt.runtimes.create(body as object)).rejects.toMatchObject({
      code: 'invalid_request',
      hint: 'Call dryRun for a dry run.',
    })
  })

  test('await using deletes the runtime', async () => {
    let id = ''
    {
      await using runtime = await holt.runtimes.create()
      id = runtime.runtime_id
    }
    expect(service.runtimes.get(id)).toMatchObject({ state: 'terminated' })
  })

  test('iterates over every page', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await holt.runtimes.create({ name })
    const names: (string | null)[] = []
    for await (const runtime of holt.runtimes.list({ limit: 2 })) names.push(runtime.name)
    expect(names).toEqual(['e', 'd', 'c', 'b', 'a'])
    expect(service.count('listRuntimes')).toBe(3)
  })

  test('filters by metadata', async () => {
    await holt.runtimes.create({ name: 'a', metadata: { team: 'x', tier: '1' } })
    await holt.runtimes.create({ name: 'b', metadata: { team: 'x', tier: '2', 'ü "&': '%' } })
    const found = await holt.runtimes.list({ metadata: { team: 'x', tier: '2', 'ü "&': '%' } }).all()
    expect(found.map((runtime) => runtime.name)).toEqual(['b'])
  })
})

describe('failures', () => {
  test('an error answer becomes a HoltError with every field', async () => {
    const failure = holt.runtimes.get('rtnone')
    await expect(failure).rejects.toBeInstanceOf(HoltError)
    await expect(failure).rejects.toMatchObject({
      code: 'runtime_not_found',
      httpStatus: 404,
      hint: expect.stringContaining('List the runtimes'),
      requestId: 'rq00000000000000000000',
    })
  })

  test('wrong fields are named', async () => {
    const failure = holt.runtimes.create({ name: 'NO', cpu: -1 })
    await expect(failure).rejects.toMatchObject({
      code: 'invalid_request',
      details: {
        issues: expect.arrayContaining([
          expect.objectContaining({ pointer: '/cpu' }),
          expect.objectContaining({ pointer: '/name' }),
        ]),
      },
    })
  })

  test('retries requests that the service asks to retry', async () => {
    service.faults.push({
      route: 'createRuntime',
      type: 'refuse',
      code: 'rate_limited',
      headers: { 'retry-after': '0' },
    })
    service.faults.push({
      route: 'createRuntime',
      type: 'refuse',
      code: 'unavailable',
      headers: { 'retry-after': '0' },
    })
    await holt.runtimes.create()
    expect(service.count('createRuntime')).toBe(3)
  })

  test('a lost answer to a create makes no second runtime', async () => {
    service.faults.push({ route: 'createRuntime', type: 'lose' })
    const runtime = await holt.runtimes.create()
    expect(service.count('createRuntime')).toBe(2)
    expect([...service.runtimes.keys()]).toEqual([runtime.runtime_id])
    const keys = service.calls.map((call) => call.headers['idempotency-key'])
    expect(keys[0]).toBe(keys[1])
  })

  test('a lost answer to a command is not retried', async () => {
    const runtime = await holt.runtimes.create()
    service.faults.push({ route: 'startCommand', type: 'lose' })
    await expect(runtime.commands.run('true')).rejects.toMatchObject({ name: 'HoltConnectionError', reason: 'lost' })
    expect(service.count('startCommand')).toBe(1)
  })

  test('a missing service is a connection error', async () => {
    const left: (number | null)[] = []
    const onRetry = ({ retriesLeft }: Retry) => left.push(retriesLeft)
    const gone = new Holt({ url: service.url, apiKey: 'x', maxRetries: 2, onRetry })
    await service.close()
    await expect(gone.health()).rejects.toMatchObject({ name: 'HoltConnectionError', reason: 'refused' })
    expect(left).toEqual([2, 1])
    service = await startTestService()
  })

  test('a service that returns during the retries is reached', async () => {
    const port = await freePort()
    const clientWith = (maxRetries: number) => new Holt({ url: `http://127.0.0.1:${port}`, apiKey: 'x', maxRetries })
    const answer = clientWith(100).health()
    await expect(clientWith(0).health()).rejects.toMatchObject({ reason: 'refused' })
    const again = new TestService(await mkdtemp(join(tmpdir(), 'holt-again-')))
    await again.listen(port)
    await expect(answer).resolves.toEqual({ status: 'ok' })
    await again.close()
  })

  test('a hanging call ends at its time limit', async () => {
    service.faults.push({ route: 'health', type: 'hang' })
    const hasty = new Holt({ url: service.url, apiKey: service.key, timeoutSecs: 0.05 })
    await expect(hasty.health()).rejects.toMatchObject({ reason: 'timeout' } satisfies Partial<HoltConnectionError>)
  })

  test('an aborted call throws the reason', async () => {
    service.faults.push({ route: 'health', type: 'hang' })
    await expect(holt.health({ signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ name: 'TimeoutError' })
    const reason = new Error('no longer wanted')
    await expect(holt.health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test.each(['nonsense', 'ftp://127.0.0.1', ''])('an invalid address is refused at once: %j', (url) => {
    expect(() => new Holt({ url, apiKey: 'x' })).toThrow('is not an http address')
  })

  test('a key is sent only if one is needed', async () => {
    await holt.health()
    await holt.templates.get('base-small')
    expect(service.calls.map((call) => call.headers.authorization)).toEqual([undefined, `Bearer ${service.key}`])
  })
})

describe('service', () => {
  test('a service that is not ready is an answer', async () => {
    service.ready = false
    await expect(holt.ready()).resolves.toMatchObject({
      status: 'not_ready',
      reasons: ['the base template is being made'],
    })
  })

  test('returns its metrics as text', async () => {
    expect(await holt.metrics()).toContain('holt_')
  })

  test('creates, lists and revokes keys', async () => {
    const key = await holt.keys.create({ name: 'ci', scopes: ['runtime:read'] })
    expect(key.key).toBe('holt_secret')
    expect((await holt.keys.list().all()).map(({ name }) => name)).toEqual(['ci'])
    await holt.keys.revoke(key.key_id)
    expect(await holt.keys.list().all()).toEqual([])
  })
})

describe('credentials', () => {
  test.each([
    [
      'given credentials win',
      { url: 'http://g', apiKey: 'g' },
      { HOLT_URL: 'http://e', HOLT_API_KEY: 'e' },
      { url: 'http://g', apiKey: 'g' },
    ],
    ['then the environment', {}, { HOLT_URL: 'http://e', HOLT_API_KEY: 'e' }, { url: 'http://e', apiKey: 'e' }],
    ['then the file', {}, {}, { url: 'http://127.0.0.1:1', apiKey: 'file' }],
    [
      "the file's key for the file's address",
      { url: 'http://127.0.0.1:1/' },
      {},
      { url: 'http://127.0.0.1:1/', apiKey: 'file' },
    ],
    [
      "never the file's key for another address",
      { url: 'http://elsewhere' },
      {},
      { url: 'http://elsewhere', apiKey: undefined },
    ],
    [
      'an empty variable counts as missing',
      {},
      { HOLT_URL: '', HOLT_API_KEY: '' },
      { url: 'http://127.0.0.1:1', apiKey: 'file' },
    ],
  ])('%s', async (_, given, env, expected) => {
    const stateDir = await mkdtemp(join(tmpdir(), 'holt-credentials-'))
    await writeFile(join(stateDir, 'credentials.json'), JSON.stringify({ url: 'http://127.0.0.1:1', key: 'file' }))
    expect(findCredentials(given, { HOLT_STATE_DIR: stateDir, ...env })).toEqual(expected)
    await rm(stateDir, { recursive: true })
  })

  test('an unusable file is reported with its path and the remedy', async () => {
    const stateDir = await mkdtemp(join(tmpdir(), 'holt-credentials-'))
    await writeFile(join(stateDir, 'credentials.json'), '{')
    expect(() => findCredentials({}, { HOLT_STATE_DIR: stateDir })).toThrow(/credentials\.json: it is not JSON/)
    await rm(stateDir, { recursive: true })
  })
})
