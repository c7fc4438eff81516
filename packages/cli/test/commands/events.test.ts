import { createInterface } from 'node:readline'
import { makeId } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addEvent } from '../../../sdk/test/support/event-handlers.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt, startHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const run = (args: readonly string[]) => runHolt(args, { service })
const subject = { kind: 'runtime', id: 'rt1' } as const

describe('events', () => {
  test('shows the newest events, the newest last, one per line', async () => {
    for (let count = 0; count < 4; count += 1) addEvent(service, 'runtime.running', subject)
    const { code, stdout } = await run(['events', '-n', '2'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^\S+ {6}3 runtime\.running +rt1\n\S+ {6}4 runtime\.running +rt1\n$/)
    expect(JSON.parse((await run(['events', '--cursor', '3', '--json'])).stdout).data).toMatchObject([{ cursor: 4 }])
  })

  test.each([
    [{ name: 'mine' }, 'rt1 (mine)'],
    [{ port: 8000, public: true }, 'rt1 (port 8000)'],
    [{ changed: ['timeout_secs', 'metadata'] }, 'rt1 (timeout_secs, metadata)'],
    [{ from: 'running', reason: { message: 'it was idle' } }, 'rt1: it was idle'],
  ])('prints %j for the subject', async (data, told) => {
    Object.assign(addEvent(service, 'runtime.updated', subject).data, data)
    expect((await run(['events'])).stdout).toContain(` ${told}\n`)
  })

  test('shows events since a time', async () => {
    const hourMs = 3_600_000
    for (const hours of [30, 3, 1])
      Object.assign(addEvent(service, 'runtime.running', subject), {
        at: new Date(Date.now() - hours * hourMs).toISOString(),
      })
    const cursors = async (...args: readonly string[]) =>
      JSON.parse((await run(['events', '--json', ...args])).stdout).data.map(({ cursor }: { cursor: number }) => cursor)
    expect(await cursors('--since', '2h')).toEqual([3])
    expect(await cursors('--since', '1d')).toEqual([2, 3])
    expect(await cursors('--since', '1d', '-n', '1')).toEqual([3])
    expect(await run(['events', '--since', '2h', '--cursor', '1'])).toMatchObject({ code: 2 })
  })

  test('prints only the ids', async () => {
    const ids = [1, 2].map(() => addEvent(service, 'runtime.running', subject).event_id)
    expect(await run(['events', '-q'])).toEqual({ code: 0, stdout: `${ids.join('\n')}\n`, stderr: '' })
  })

  test('follows after all events since a time', async () => {
    const old = addEvent(service, 'runtime.starting', subject)
    Object.assign(old, { at: new Date(Date.now() - 7_200_000).toISOString() })
    const ids = [1, 2].map(() => addEvent(service, 'runtime.running', subject).event_id)
    // An event of another kind is behind those that are shown.
    addEvent(service, 'build.ready', subject)
    const child = startHolt(['events', '-f', '--since', '1h', '-q', '--type', 'runtime.*'], { service })
    const shown: string[] = []
    for await (const part of child.stdout.setEncoding('utf8')) {
      shown.push(...String(part).trim().split('\n'))
      if (shown.length === 2) ids.push(addEvent(service, 'runtime.paused', subject).event_id)
      if (shown.length > 2) break
    }
    child.kill()
    expect(shown).toEqual(ids)
  })

  test.each([
    { args: ['-n', '2'], shows: [4, 5] },
    { args: ['-n', '9'], shows: [2, 4, 5] },
    { args: ['-n', '1', '--since', '1h'], shows: [5] },
    { args: ['-n', '9', '--since', '1h'], shows: [4, 5] },
  ])('follows after the newest, with $args', async ({ args, shows }) => {
    addEvent(service, 'build.ready', subject)
    Object.assign(addEvent(service, 'runtime.starting', subject), {
      at: new Date(Date.now() - 7_200_000).toISOString(),
    })
    addEvent(service, 'build.ready', subject)
    for (let count = 0; count < 2; count += 1) addEvent(service, 'runtime.running', subject)
    // The events of other kinds do not count.
    addEvent(service, 'build.ready', subject)
    const child = startHolt(['events', '-f', ...args, '--json', '--type', 'runtime.*'], { service })
    const shown: number[] = []
    let came = false
    for await (const line of createInterface({ input: child.stdout })) {
      shown.push(JSON.parse(line).cursor)
      if (came) break
      if (shown.length < shows.length) continue
      came = true
      addEvent(service, 'runtime.paused', subject)
    }
    child.kill()
    expect(shown).toEqual([...shows, 7])
  })

  test('follows, one JSON object per line', async () => {
    addEvent(service, 'runtime.starting', subject)
    const child = startHolt(['events', '-f', '--cursor', '0', '--json', '--type', 'runtime.*'], { service })
    const lines: string[] = []
    for await (const part of child.stdout.setEncoding('utf8')) {
      lines.push(...String(part).trim().split('\n'))
      if (lines.length === 1) addEvent(service, 'runtime.running', subject)
      else break
    }
    child.kill()
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(['runtime.starting', 'runtime.running'])
  })

  test.each([
    [['--type', 'runtime.unheard'], 'runtime.*'],
    [['--cursor', 'x'], '--cursor'],
    [['-n', '0'], '--limit'],
    [['-f', '-n', '0'], '--limit'],
    [['-f', '-n', '5', '--cursor', '3'], 'leave --limit out'],
  ])('%j is wrong usage', async (args, told) => {
    expect(await run(['events', ...args])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(told) })
  })
})

describe('webhook', () => {
  const create = async () => {
    const ended = await run(['webhook', 'create', 'https://hooks.example.com', '-t', 'runtime.*', '-t', 'build.ready'])
    return { ended, id: [...service.webhooks.keys()][0] ?? '' }
  }

  test('create prints only the secret on stdout', async () => {
    const { ended, id } = await create()
    expect(ended).toMatchObject({ code: 0, stdout: 'whsec_dGVzdA==\n', stderr: expect.stringContaining(id) })
    expect(service.webhooks.get(id)).toMatchObject({ types: ['runtime.*', 'build.ready'] })
  })

  test('ls, get, set, rotate and rm', async () => {
    const { id } = await create()
    expect((await run(['webhook', 'ls'])).stdout).toMatch(
      new RegExp(`\\n${id} +active +https://hooks.example.com +runtime`),
    )
    expect((await run(['webhook', 'get', id])).stdout).toContain('https://hooks.example.com')
    expect((await run(['webhook', 'set', id, '--disable'])).stderr).toContain('disabled')
    expect((await run(['webhook', 'set', id])).stderr).toContain('Give a change: ')
    expect((await run(['webhook', 'rotate', id, '--overlap', '2h'])).stdout).toBe('whsec_bmV3\n')
    expect(service.calls.at(-1)?.body).toEqual({ overlap_secs: 7200 })
    expect((await run(['webhook', 'rm', id])).code).toBe(0)
    expect(service.webhooks.size).toBe(0)
  })

  test('test reports the delivery, also by its exit code', async () => {
    const { id } = await create()
    expect(await run(['webhook', 'test', id])).toMatchObject({ code: 0, stderr: 'It arrived: 200 in 12 ms\n' })
    service.tested = {
      state: 'failed',
      attempts: [{ at: '2030-01-01T00:00:00.000Z', status: null, duration_ms: 5, error: 'no such name', response: '' }],
    }
    expect(await run(['webhook', 'test', id])).toMatchObject({
      code: 1,
      stderr: 'It did not arrive: no answer in 5 ms, no such name\n',
    })
    expect((await run(['webhook', 'deliveries', id, '--failed'])).stdout).toMatch(/\nwd\w+ +failed +webhook\.test/)
    const delivery = String(service.deliveries[0]?.delivery_id)
    expect((await run(['webhook', 'redeliver', id, delivery])).stderr).toContain(`Sending ${delivery} again`)
  })
})

test('audit finds calls with a key by its name', async () => {
  await run(['key', 'create', 'ci'])
  await run(['key', 'create', 'viewer'])
  const entry = {
    kind: 'change',
    at: '2030-01-01T00:00:00.000Z',
    project_id: makeId('project'),
    address: '192.0.2.7',
    params: {},
    subject_id: null,
    status: 201,
    request_id: 'rq1',
    count: 1,
    last_at: '2030-01-01T00:00:00.100Z',
  }
  for (const { key_id, name } of service.keys.values())
    service.audit.push({ ...entry, audit_id: makeId('audit'), key: { key_id, name }, route: `by_${name}` })
  const { stdout } = await run(['audit', '--key', 'ci', '--since', '2h', '--json'])
  expect(JSON.parse(stdout).data).toMatchObject([{ route: 'by_ci' }])
})

test('audit prints who did what', async () => {
  service.audit.push({
    audit_id: makeId('audit'),
    kind: 'change',
    at: '2030-01-01T00:00:00.000Z',
    project_id: makeId('project'),
    key: { key_id: makeId('key'), name: 'ci\u001b[2J' },
    address: '192.0.2.7',
    route: 'createRuntime',
    params: {},
    subject_id: 'rt1',
    status: 201,
    request_id: 'rq1',
    count: 1,
    last_at: '2030-01-01T00:00:00.100Z',
  })
  const { code, stdout } = await run(['audit', '--since', '2029-01-01'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/ci\\u001b\[2J +ky\w+ +192\.0\.2\.7 +createRuntime +rt1 +201 +1\n$/)
  expect((await run(['audit', '--since', 'yesterday'])).stderr).toContain('--since yesterday is neither a date')
})
