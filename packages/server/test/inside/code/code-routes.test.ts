import { CodeContext, CodeItem, CodeResult } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { type CodeServer, startCodeServer } from '../../support/fake-bridge.ts'
import { makeProject } from '../../support/own-project.ts'
import { readItems } from '../../support/read-items.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const items = (text: string): CodeItem[] =>
  text
    .trim()
    .split('\n')
    .map((line) => CodeItem.parse(JSON.parse(line)))

const ndjson = { accept: 'application/x-ndjson' }

const run = (server: CodeServer, code: string, more: object = {}) =>
  server.ask('POST', `${server.contexts}/run`, { json: { code, ...more } })

/** Starts code that waits, and returns its stream when it runs. */
async function startWaiting(server: CodeServer, code: string, path = '/run') {
  const controller = new AbortController()
  const response = await fetch(`${server.server.url}${server.contexts}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.server.adminKey}`, 'content-type': 'application/json', ...ndjson },
    body: JSON.stringify({ code, timeout_secs: 0 }),
    signal: controller.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n')) text += (await reader?.read())?.value ?? ''
  const [start] = items(text.slice(0, text.indexOf('\n') + 1))
  if (start?.type !== 'start') throw new Error(text)
  return { runId: start.run_id, leave: () => controller.abort() }
}

describe('a run', () => {
  test('answers output, results and the number of the run', async () => {
    const server = await startCodeServer()
    const { status, json } = await run(server, 'print hello\nwarn careful\nshow image/png aGk=\nresult 42')
    expect(status).toBe(200)
    expect(CodeResult.parse(json)).toEqual({
      run_id: expect.stringMatching(/^cr[a-z0-9]{20}$/),
      context_id: 'default-python',
      status: 'ok',
      stdout: 'hello\n',
      stderr: 'careful\n',
      results: [
        { data: { 'image/png': 'aGk=', 'text/plain': '<shown>' }, metadata: {}, main: false },
        { data: { 'text/plain': '42' }, metadata: {}, main: true },
      ],
      error: null,
      execution_count: 1,
      truncated: { stdout: false, stderr: false, results: false },
      duration_ms: 1,
      state_lost: false,
    })
  })

  test('finds the variables of earlier runs of its context, and of no other', async () => {
    const server = await startCodeServer()
    await run(server, 'set x 1')
    expect((await run(server, 'get x')).json.results).toMatchObject([{ data: { 'text/plain': '1' } }])
    expect((await run(server, 'get x', { language: 'javascript' })).json.error).toMatchObject({ name: 'NameError' })
    const { json: context } = await server.ask('POST', server.contexts, { json: {} })
    const inContext = `${server.contexts}/${context.context_id}/run`
    expect((await server.ask('POST', inContext, { json: { code: 'get x' } })).json).toMatchObject({
      status: 'error',
      context_id: context.context_id,
      error: { name: 'NameError', value: "name 'x' is not defined" },
    })
  })

  test.each([
    ['raise ValueError no', { status: 'error', error: { name: 'ValueError', value: 'no' } }],
    ['wait', { status: 'timed_out', error: null }],
    ['die', { status: 'kernel_died', state_lost: true }],
    ['swell', { status: 'out_of_memory' }],
  ])('with the code %s is a result, not an error', async (code, expected) => {
    const server = await startCodeServer()
    const { status, json } = await run(server, `print first\n${code}`, { timeout_secs: 0.05 })
    expect(status).toBe(200)
    expect(CodeResult.parse(json)).toMatchObject({ stdout: 'first\n', ...expected })
  })

  test('gets its environment', async () => {
    const server = await startCodeServer()
    expect((await run(server, 'env A', { env: { A: 'b' } })).json.stdout).toBe('b\n')
  })

  test('shows the last value of a display, and no cleared one', async () => {
    const server = await startCodeServer()
    const shown = async (code: string) =>
      (await run(server, code)).json.results.map(({ data }: { data: Record<string, string> }) => data['text/plain'])
    expect(await shown('name a 1%\nname b x\nupdate a 99%')).toEqual(['99%', 'x'])
    expect(await shown('name a 1\nclear\nname b 2')).toEqual(['2'])
    expect(await shown('name a 1\nclear wait')).toEqual(['1'])
    expect(await shown('name a 1\nclear wait\nprint x')).toEqual([])
  })

  test('keeps the requested bytes of output and results, and says what is missing', async () => {
    const server = await startCodeServer()
    const code = `fill 100\nshow text/html ${'y'.repeat(400)}\nresult 42`
    const { json } = await run(server, code, { max_output_bytes: 10, max_result_bytes: 200 })
    expect(json).toMatchObject({
      stdout: 'x'.repeat(10),
      results: [{ data: { 'text/plain': '<shown>' } }, { data: { 'text/plain': '42' } }],
      truncated: { stdout: true, stderr: false, results: true },
    })
    expect(Object.keys(json.results[0].data)).toEqual(['text/plain'])
  })

  test('is done once for an Idempotency-Key', async () => {
    const server = await startCodeServer()
    const ask = () =>
      server.ask('POST', `${server.contexts}/run`, {
        json: { code: 'print once' },
        headers: { 'idempotency-key': 'one' },
      })
    const [first, second] = [await ask(), await ask()]
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.json).toEqual(first.json)
    expect(server.interpreter.runs).toBe(1)
  })

  test('is kept short for a repeated request', async () => {
    const server = await startCodeServer()
    const ask = () =>
      server.ask('POST', `${server.contexts}/run`, {
        json: { code: `fill 1000000\nshow text/html ${'y'.repeat(1_000_000)}` },
        headers: { 'idempotency-key': 'long' },
      })
    expect((await ask()).json.truncated).toEqual({ stdout: false, stderr: false, results: false })
    const again = CodeResult.parse((await ask()).json)
    expect(again.truncated).toEqual({ stdout: true, stderr: false, results: true })
    expect([again.status, again.results]).toEqual(['ok', []])
  })
})

describe('a stream', () => {
  test('has the items from start to end', async () => {
    const server = await startCodeServer()
    const { text, headers } = await server.ask('POST', `${server.contexts}/run`, {
      json: { code: 'print a\nname d 1\nupdate d 2\nclear wait\nraise E v' },
      headers: ndjson,
    })
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    expect(items(text)).toMatchObject([
      { type: 'start', cursor: 0, run_id: expect.stringMatching(/^cr/), context_id: 'default-python' },
      { type: 'stdout', cursor: 1, text: 'a\n' },
      { type: 'display', cursor: 2, data: { 'text/plain': '1' }, display_id: 'd', main: false },
      { type: 'update_display', cursor: 3, display_id: 'd' },
      { type: 'clear_output', cursor: 4, wait: true },
      { type: 'error', cursor: 5, name: 'E', value: 'v' },
      { type: 'end', cursor: 6, status: 'error', truncated: false },
    ])
  })

  test('is server-sent events on request', async () => {
    const server = await startCodeServer()
    const { text } = await server.ask('POST', `${server.contexts}/run`, {
      json: { code: 'print a' },
      headers: { accept: 'text/event-stream' },
    })
    expect(text).toContain('event: stdout\nid: 1\ndata: {"type":"stdout","cursor":1,"text":"a\\n"}\n\n')
  })

  test('that its reader leaves does not end the run, which is read again from any point', async () => {
    const server = await startCodeServer()
    const { runId, leave } = await startWaiting(server, 'print a\nwait\nprint b')
    leave()
    await using reader = await readItems(server, `${server.contexts}/runs/${runId}?cursor=0`)
    expect(await reader.next()).toMatchObject({ type: 'stdout', text: 'a\n' })
    expect((await server.ask('POST', `${server.contexts}/runs/${runId}/interrupt`)).status).toBe(204)
    expect(await reader.next()).toMatchObject({ type: 'end', status: 'interrupted' })
    const again = await server.ask('GET', `${server.contexts}/runs/${runId}?cursor=1`)
    expect(items(again.text)).toMatchObject([{ type: 'end', status: 'interrupted' }])
  })

  test('continues over a pause of its runtime', async () => {
    const server = await startCodeServer()
    const runtime = `/v1/agents/runtime/${server.id}`
    const { runId } = await startWaiting(server, 'print a\nwait')
    await using reader = await readItems(server, `${server.contexts}/runs/${runId}`)
    expect([(await reader.next()).type, (await reader.next()).type]).toEqual(['start', 'stdout'])
    expect((await server.ask('POST', `${runtime}/pause`)).status).toBe(200)
    expect((await server.ask('POST', `${runtime}/resume`)).status).toBe(200)
    await server.ask('POST', `${server.contexts}/runs/${runId}/interrupt`)
    expect(await reader.next()).toMatchObject({ type: 'end', status: 'interrupted' })
  })
})

describe('a context', () => {
  test('is created, read, listed, interrupted, restarted and deleted', async () => {
    const server = await startCodeServer()
    const { ask, contexts } = server
    const made = await ask('POST', contexts, { json: { language: 'javascript', cwd: '/tmp' } })
    expect(made.status).toBe(201)
    expect(CodeContext.parse(made.json)).toMatchObject({ language: 'javascript', cwd: '/tmp', state: 'idle' })
    const one = `${contexts}/${made.json.context_id}`
    await ask('POST', `${one}/run`, { json: { code: 'set x 1' } })
    expect((await ask('GET', one)).json).toEqual({ ...made.json, execution_count: 1 })
    const waiting = await startWaiting(server, 'wait', `/${made.json.context_id}/run`)
    await expect.poll(async () => (await ask('GET', one)).json.state).toBe('busy')
    expect((await ask('POST', `${one}/interrupt`)).status).toBe(200)
    const { text } = await ask('GET', `${contexts}/runs/${waiting.runId}`)
    expect(items(text).at(-1)).toMatchObject({ status: 'interrupted' })
    expect((await ask('POST', `${one}/restart`)).json).toMatchObject({ state: 'idle', execution_count: 0 })
    expect((await ask('POST', `${one}/run`, { json: { code: 'get x' } })).json.status).toBe('error')
    await run(server, 'print x')
    const list = await ask('GET', contexts)
    expect(list.json.data.map(({ context_id }: CodeContext) => context_id)).toEqual([
      'default-python',
      made.json.context_id,
    ])
    const page = await ask('GET', `${contexts}?limit=1`)
    const rest = await ask('GET', `${contexts}?limit=1&cursor=${page.json.next_cursor}`)
    expect([page.json.data[0].context_id, rest.json.data[0].context_id]).toEqual([
      'default-python',
      made.json.context_id,
    ])
    expect((await ask('DELETE', one)).status).toBe(204)
    expect((await ask('GET', one)).json.error.code).toBe('code_context_not_found')
  })

  test('wakes a paused runtime', async () => {
    const server = await startCodeServer()
    await run(server, 'set x 1')
    await server.ask('POST', `/v1/agents/runtime/${server.id}/pause`)
    expect((await run(server, 'get x')).json.results).toMatchObject([{ data: { 'text/plain': '1' } }])
  })
})

describe('an error', () => {
  test.each([
    ['GET', '/ctx99', undefined, 'code_context_not_found'],
    ['GET', '/a%2Fb', undefined, 'code_context_not_found'],
    ['DELETE', '/ctx99', undefined, 'code_context_not_found'],
    ['POST', '/ctx99/interrupt', undefined, 'code_context_not_found'],
    ['POST', '/ctx99/restart', undefined, 'code_context_not_found'],
    ['POST', '/ctx99/run', { code: 'print x' }, 'code_context_not_found'],
    ['GET', `/runs/cr${'a'.repeat(20)}`, undefined, 'code_run_not_found'],
    ['GET', '/runs/x', undefined, 'code_run_not_found'],
    ['POST', `/runs/cr${'a'.repeat(20)}/interrupt`, undefined, 'code_run_not_found'],
    ['POST', '', { language: 'cobol' }, 'language_not_found'],
    ['POST', '/run', { code: 'x', language: 'cobol' }, 'language_not_found'],
    ['POST', '/run', { code: '' }, 'invalid_request'],
    ['POST', '', { cwd: 'tmp' }, 'invalid_path'],
  ])('of %s %s with %j is %s', async (method, path, json, code) => {
    const { ask, contexts } = await startCodeServer()
    const answer = await ask(method, contexts + path, json === undefined ? {} : { json })
    expect(answer.json.error.code).toBe(code)
  })

  test('of a language lists the languages', async () => {
    const { ask, contexts } = await startCodeServer()
    const { json } = await ask('POST', contexts, { json: { language: 'cobol' } })
    expect(json.error).toMatchObject({
      message: 'The code interpreter has no language cobol. It has python, javascript.',
      details: { languages: ['python', 'javascript'] },
    })
  })

  test('of a runtime without an interpreter names the template that has one', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    const { status, json } = await ask('POST', `/v1/agents/runtime/${id}/contexts/run`, { json: { code: '1' } })
    expect([status, json.error.code]).toEqual([409, 'code_interpreter_missing'])
    expect(json.error.hint).toContain('code-interpreter')
  })

  test('of a run whose runtime ends is a timeout with the id of the run', async () => {
    const server = await startCodeServer()
    const waiting = run(server, 'wait', { timeout_secs: 0 })
    await expect.poll(() => server.interpreter.runs).toBe(1)
    server.engine.end(server.id, { reason: 'crashed', message: '' })
    const { status, json } = await waiting
    expect([status, json.error.code]).toEqual([504, 'timeout'])
    expect(json.error.details.run_id).toMatch(/^cr/)
  })

  test('of a key without the scope, and of another project', async () => {
    const server = await startCodeServer()
    const { key } = await server.makeKey('runtime:read')
    const json = { code: 'print x' }
    expect((await server.ask('POST', `${server.contexts}/run`, { json, key })).status).toBe(403)
    expect((await server.ask('GET', server.contexts, { key })).status).toBe(200)
    const { key: foreign } = await makeProject(server, 'another')
    expect((await server.ask('POST', `${server.contexts}/run`, { json, key: foreign })).json.error.code).toBe(
      'runtime_not_found',
    )
  })
})

test('a run is in the audit log and in the metrics', async () => {
  const server = await startCodeServer()
  await run(server, 'print x')
  await expect
    .poll(async () => (await server.ask('GET', '/v1/agents/audit?route=runCode')).json.data)
    .toMatchObject([{ kind: 'inside', route: 'runCode', status: 200 }])
  expect((await server.ask('GET', '/metrics')).text).toContain('holt_code_runs_total{mode="waited"} 1')
})
