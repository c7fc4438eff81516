import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

async function start(): Promise<TestServer & { commands: string; id: string }> {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  return { ...server, id, commands: `/v1/agents/runtime/${id}/commands` }
}

const brokeMessage = 'the connection to a runtime broke while a command ran'

const items = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('a command that is waited for', () => {
  test('answers its result', async () => {
    const { ask, commands } = await start()
    const { status, json } = await ask('POST', commands, { json: { argv: ['echo', 'hello', 'wörld'] } })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      state: 'exited',
      exit_code: 0,
      signal: null,
      timed_out: false,
      stdout: 'hello wörld\n',
      stderr: '',
      stdout_bytes: 13,
      argv: ['echo', 'hello', 'wörld'],
      command: null,
      cwd: '/workspace',
      user: 'user',
      truncated: { stdout: false, stderr: false },
    })
  })

  test('gives the same result later', async () => {
    const { ask, commands } = await start()
    const { json } = await ask('POST', commands, { json: { command: 'complain loudly' } })
    const again = (await ask('GET', `${commands}/${json.command_id}`)).json
    const { stdout, stderr, truncated, started_at, ended_at, duration_ms, ...same } = json
    expect(again).toMatchObject(same)
    expect([stdout, stderr, truncated.stdout]).toEqual(['', 'loudly\n', false])
  })

  test('with a non-zero exit code or a timeout is a result', async () => {
    const { ask, commands } = await start()
    expect((await ask('POST', commands, { json: { command: 'exit 7' } })).json.exit_code).toBe(7)
    expect((await ask('POST', commands, { json: { command: 'sleep', timeout_secs: 0.05 } })).json).toMatchObject({
      timed_out: true,
      exit_code: 137,
      signal: 'SIGKILL',
    })
  })

  test('keeps the first MiB of a stream and says that it is truncated', async () => {
    const { ask, commands } = await start()
    const { json } = await ask('POST', commands, { json: { command: 'fill 1500000' } })
    expect([json.stdout.length, json.stdout_bytes, json.truncated]).toEqual([
      1024 * 1024,
      1_500_000,
      { stdout: true, stderr: false },
    ])
  })

  test('keeps the requested number of bytes of each stream', async () => {
    const { ask, commands } = await start()
    const json = { command: 'echo hello', max_output_bytes: 3 }
    expect((await ask('POST', commands, { json })).json).toMatchObject({
      stdout: 'hel',
      stdout_bytes: 6,
      truncated: { stdout: true, stderr: false },
    })
    const whole = (await ask('POST', commands, { json: { command: 'fill 1500000', max_output_bytes: 2_000_000 } })).json
    expect([whole.stdout.length, whole.truncated.stdout]).toEqual([1_500_000, false])
  })

  test('gets its stdin and environment', async () => {
    const { ask, commands } = await start()
    expect((await ask('POST', commands, { json: { command: 'cat', stdin: 'in\n' } })).json.stdout).toBe('in\n')
    expect((await ask('POST', commands, { json: { command: 'printenv A', env: { A: 'b' } } })).json.stdout).toBe('b\n')
    expect((await ask('POST', commands, { json: { command: 'printenv FROM_TEMPLATE' } })).json.stdout).toBe('yes\n')
  })

  test('that cannot be started is an invalid request', async () => {
    const { ask, commands } = await start()
    expect((await ask('POST', commands, { json: { command: 'nothing-like-it' } })).json.error).toMatchObject({
      code: 'invalid_request',
      details: { reason: 'program_not_found' },
    })
  })

  test('whose runtime ends has no invented exit code, and the cause is logged once', async () => {
    const { ask, commands, engine, id, logged } = await start()
    const waiting = ask('POST', commands, { json: { command: 'sleep', timeout_secs: 0 } })
    await expect.poll(async () => (await ask('GET', commands)).json.data.length).toBe(1)
    engine.end(id, { reason: 'crashed', message: '' })
    const { status, json } = await waiting
    expect([status, json.error.code]).toEqual([504, 'timeout'])
    expect(json.error.details.command_id).toMatch(/^cm/)
    const warnings = logged.filter(({ message }) => message === brokeMessage)
    const facts = { err: expect.any(Error), runtime_id: id, command_id: json.error.details.command_id }
    expect(warnings).toEqual([{ level: 'warn', facts, message: brokeMessage }])
  })

  test('continues when its client disconnects', async () => {
    const { ask, commands, logged } = await start()
    const leaving = new AbortController()
    const waiting = ask('POST', commands, { json: { command: 'sleep', timeout_secs: 0 }, signal: leaving.signal })
    await expect.poll(async () => (await ask('GET', `${commands}?state=running`)).json.data.length).toBe(1)
    leaving.abort()
    await expect(waiting).rejects.toThrow()
    expect((await ask('GET', `${commands}?state=running`)).json.data.length).toBe(1)
    expect(logged.filter(({ message }) => message === brokeMessage)).toEqual([])
  })
})

describe('a stream', () => {
  test('is NDJSON from start to end', async () => {
    const { ask, commands } = await start()
    const { headers, text } = await ask('POST', commands, {
      json: { command: 'echo hi' },
      headers: { accept: 'application/x-ndjson' },
    })
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    expect(items(text)).toMatchObject([
      { type: 'start', cursor: 0, command_id: expect.stringMatching(/^cm/) },
      { type: 'stdout', cursor: 3, data: 'hi\n', encoding: 'utf-8' },
      { type: 'exit', exit_code: 0 },
      { type: 'end', cursor: 3 },
    ])
  })

  test('is server-sent events on request', async () => {
    const { ask, commands } = await start()
    const { headers, text } = await ask('POST', commands, {
      json: { command: 'echo hi' },
      headers: { accept: 'text/event-stream' },
    })
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const events = text.trim().split('\n\n')
    expect(events[1]).toMatch(
      /^event: stdout\nid: 3\ndata: \{"type":"stdout","cursor":3,"data":"hi\\n","encoding":"utf-8","at":"20[-\d]+T[:.\d]+Z"\}$/,
    )
    expect(events.at(-1)).toMatch(/^event: end\n/)
  })

  test('ends with the final state of the command, equal to that of a read', async () => {
    const { ask, commands } = await start()
    const json = { command: 'complain loudly', env: { A: 'b' } }
    const { text } = await ask('POST', commands, { json, headers: { accept: 'application/x-ndjson' } })
    const { command } = items(text).at(-2)
    const again = (await ask('GET', `${commands}/${command.command_id}`)).json
    expect(command).toEqual(again)
    expect(Date.parse(again.ended_at) - Date.parse(again.started_at)).toBe(again.duration_ms)
    const output = await ask('GET', `${commands}/${command.command_id}/output`)
    expect(items(output.text).at(-2).command).toEqual(again)
  })

  test('ends with the facts that only the guest knows: dropped bytes, and the state of a session', async () => {
    const { ask, commands } = await start()
    const headers = { accept: 'application/x-ndjson' }
    for (const json of [
      { command: 'fill 1500000' },
      { command: 'echo hi', session: 'main' },
      { command: 'echo hi', user: 'root', cwd: '/tmp' },
    ]) {
      const { command } = items((await ask('POST', commands, { json, headers })).text).at(-2)
      expect(command).toEqual((await ask('GET', `${commands}/${command.command_id}`)).json)
    }
  })

  test('sends bytes that are not text as base64', async () => {
    const { ask, commands } = await start()
    const { text } = await ask('POST', commands, {
      json: { command: 'bytes ff00fe' },
      headers: { accept: 'application/x-ndjson' },
    })
    expect(items(text)[1]).toMatchObject({ encoding: 'base64', data: Buffer.from('ff00fe', 'hex').toString('base64') })
  })

  test('breaks without an end when the runtime ends', async () => {
    const { server, ask, commands, engine, id } = await start()
    const response = await fetch(`${server.url}${commands}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.adminKey}`,
        accept: 'application/x-ndjson',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ command: 'sleep' }),
    })
    const reading = response.text()
    await expect.poll(async () => (await ask('GET', commands)).json.data.length).toBe(1)
    engine.end(id, { reason: 'crashed', message: '' })
    await expect(reading).rejects.toThrow()
  })

  test('resumes at a cursor', async () => {
    const { ask, commands } = await start()
    const { json } = await ask('POST', commands, { json: { command: 'fill 100000' } })
    const all = items((await ask('GET', `${commands}/${json.command_id}/output`)).text)
    const rest = items(
      (await ask('GET', `${commands}/${json.command_id}/output?cursor=${all[2].cursor}&follow=true`)).text,
    )
    expect(rest).toEqual(all.slice(3))
  })
})

describe('a command in the background', () => {
  test('answers at once, has no timeout, takes input and ends on request', async () => {
    const { ask, commands } = await start()
    const { status, json } = await ask('POST', commands, { json: { command: 'cat', background: true, stdin: true } })
    expect([status, json.state, json.exit_code, json.ended_at]).toEqual([201, 'running', null, null])
    const one = `${commands}/${json.command_id}`
    expect((await ask('POST', `${one}/stdin`, { json: { data: 'one\n' } })).json).toEqual({
      written_bytes: 4,
      offset: 4,
    })
    expect(
      (
        await ask('POST', `${one}/stdin`, {
          json: { data: Buffer.from('two\n').toString('base64'), encoding: 'base64', eof: true },
        })
      ).json,
    ).toEqual({ written_bytes: 4, offset: 8 })
    const output = items((await ask('GET', `${one}/output?follow=true`)).text)
    expect(output.filter(({ type }) => type === 'stdout').map(({ data }) => data)).toEqual(['one\n', 'two\n'])
    expect((await ask('GET', one)).json).toMatchObject({ state: 'exited', exit_code: 0 })
    expect((await ask('POST', `${one}/stdin`, { json: { data: 'x' } })).json.error.code).toBe('conflict')
    expect((await ask('POST', `${one}/signal`, { json: { signal: 'SIGTERM' } })).json.error.code).toBe('conflict')
  })

  test('can be signalled and killed', async () => {
    const { ask, commands } = await start()
    const begin = async () =>
      `${commands}/${(await ask('POST', commands, { json: { command: 'sleep', background: true } })).json.command_id}`
    expect((await ask('POST', `${await begin()}/signal`, { json: { signal: 'SIGTERM' } })).json).toMatchObject({
      signal: 'SIGTERM',
      exit_code: 143,
    })
    expect((await ask('DELETE', await begin())).json).toMatchObject({ signal: 'SIGKILL', state: 'exited' })
  })

  test('is listed newest first, in pages, by state', async () => {
    const { ask, commands } = await start()
    for (const command of ['true', 'sleep', 'false', 'sleep'])
      await ask('POST', commands, { json: { command, background: true } })
    const first = (await ask('GET', `${commands}?limit=3`)).json
    const second = (await ask('GET', `${commands}?limit=3&cursor=${first.next_cursor}`)).json
    expect([...first.data, ...second.data].map(({ command_id }) => command_id)).toHaveLength(4)
    expect(new Set([...first.data, ...second.data].map(({ command_id }) => command_id)).size).toBe(4)
    expect((await ask('GET', `${commands}?state=running`)).json.data).toHaveLength(2)
  })
})

describe('a write to stdin', () => {
  test('is applied once, however often it is sent', async () => {
    const { ask, commands } = await start()
    const json = { command: 'cat', background: true, stdin: true }
    const one = `${commands}/${(await ask('POST', commands, { json })).json.command_id}`
    const write = async (body: object) => (await ask('POST', `${one}/stdin`, { json: body })).json
    expect(await write({ data: 'abc', offset: 0 })).toEqual({ written_bytes: 3, offset: 3 })
    expect(await write({ data: 'abcd', offset: 0 })).toEqual({ written_bytes: 1, offset: 4 })
    expect((await write({ data: 'x', offset: 9 })).error).toMatchObject({
      code: 'conflict',
      details: { reason: 'stdin_gap', offset: 4 },
    })
    expect(await write({ offset: 4, eof: true })).toEqual({ written_bytes: 0, offset: 4 })
    expect(await write({ data: 'd', offset: 3, eof: true })).toEqual({ written_bytes: 0, offset: 4 })
    const output = items((await ask('GET', `${one}/output?follow=true`)).text)
    expect(output.flatMap(({ data = [] }) => data).join('')).toBe('abcd')
  })

  test.each([
    [{ data: 'AA', encoding: 'base64' }, '/data'],
    [{ data: 'A===', encoding: 'base64' }, '/data'],
    [{ data: '====', encoding: 'base64' }, '/data'],
    [{ data: 'AA=A', encoding: 'base64' }, '/data'],
    [{ offset: -1 }, '/offset'],
    [{ offset: 2 ** 60 }, '/offset'],
  ])('%j is refused at %s', async (json, pointer) => {
    const { ask, commands } = await start()
    const body = { command: 'cat', background: true, stdin: true }
    const one = `${commands}/${(await ask('POST', commands, { json: body })).json.command_id}`
    const { error } = (await ask('POST', `${one}/stdin`, { json })).json
    expect([error.code, error.details.issues[0].pointer]).toEqual(['invalid_request', pointer])
  })
})

describe('a shell session', () => {
  test('is created by its first command, keeps its directory, is listed and ends', async () => {
    const { ask, commands } = await start()
    const sessions = commands.replace(/commands$/, 'sessions')
    const run = (command: string, more = {}) => ask('POST', commands, { json: { command, session: 'dev', ...more } })
    expect((await run('cd /srv')).json).toMatchObject({ exit_code: 0, session: 'dev', session_kept: true })
    const { command_id, ...second } = (await run('sleep', { background: true })).json
    expect(second).toMatchObject({ cwd: '/srv', session: 'dev', session_kept: null })
    expect((await run('true')).json.error).toMatchObject({ code: 'conflict', details: { reason: 'session_busy' } })
    const { data } = (await ask('GET', sessions)).json
    expect(data).toMatchObject([{ name: 'dev', cwd: '/srv', commands: 2, command_id, user: 'user' }])
    expect((await ask('DELETE', `${sessions}/dev`)).status).toBe(204)
    expect((await ask('GET', `${commands}/${command_id}`)).json).toMatchObject({ state: 'exited', session_kept: false })
    expect((await ask('DELETE', `${sessions}/dev`)).json.error.code).toBe('session_not_found')
    expect((await ask('DELETE', `${sessions}/a%20b`)).json.error.code).toBe('session_not_found')
  })

  test('is listed in pages', async () => {
    const { ask, commands } = await start()
    const sessions = commands.replace(/commands$/, 'sessions')
    for (const session of ['a', 'b', 'c']) await ask('POST', commands, { json: { command: 'true', session } })
    const first = (await ask('GET', `${sessions}?limit=2`)).json
    const second = (await ask('GET', `${sessions}?limit=2&cursor=${first.next_cursor}`)).json
    expect(new Set([...first.data, ...second.data].map(({ name }) => name))).toEqual(new Set(['a', 'b', 'c']))
    expect(second.next_cursor).toBeNull()
  })
})

test('a limit above that of the isolation class is refused by name', async () => {
  const { ask, commands } = await start()
  const { error } = (await ask('POST', commands, { json: { command: 'true', rlimits: { data: 1 } } })).json
  expect(error).toMatchObject({ code: 'unsupported_setting', details: { issues: [{ pointer: '/rlimits/data' }] } })
  expect((await ask('POST', commands, { json: { command: 'true', rlimits: { nofile: 9 } } })).status).toBe(200)
})

test.each(['cm00000000000000000000', 'nonsense', '..%2f..%2fprocesses', '%00'])(
  'the command %s does not exist',
  async (command) => {
    const { ask, commands } = await start()
    for (const [method, path, json] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['GET', '/output', undefined],
      ['POST', '/stdin', { data: 'x' }],
      ['POST', '/signal', { signal: 'SIGTERM' }],
    ] as const) {
      const answer = await ask(method, `${commands}/${command}${path}`, json === undefined ? {} : { json })
      expect([answer.status, answer.json.error.code]).toEqual([404, 'command_not_found'])
    }
  },
)

test.each([
  [{}, '/command'],
  [{ command: 'a', argv: ['b'] }, '/command'],
  [{ command: 'a\0b' }, '/command'],
  [{ argv: [] }, '/argv'],
  [{ command: 'true', cwd: 'relative' }, '/cwd'],
  [{ command: 'true', user: 'a b' }, '/user'],
  [{ command: 'true', timeout_secs: -1 }, '/timeout_secs'],
  [{ command: 'true', nonsense: true }, '/nonsense'],
  [{ command: 'true', rlimits: { files: 1 } }, '/rlimits/files'],
  [{ command: 'true', rlimits: { nofile: -1 } }, '/rlimits/nofile'],
  [{ command: 'true', rlimits: { nofile: { soft: 2, hard: 1 } } }, '/rlimits/nofile'],
  [{ command: 'true', rlimits: { nofile: { hard: 1 } } }, '/rlimits/nofile/soft'],
  [{ command: 'true', session: 'a b' }, '/session'],
  [{ command: 'true', session: '' }, '/session'],
  [{ command: 'true', max_output_bytes: 2 ** 30 }, '/max_output_bytes'],
])('the command %j is refused at %s', async (json, pointer) => {
  const { ask, commands } = await start()
  const answer = await ask('POST', commands, { json })
  expect(answer.status).toBe(400)
  expect(answer.json.error.details.issues[0].pointer).toBe(pointer)
})
