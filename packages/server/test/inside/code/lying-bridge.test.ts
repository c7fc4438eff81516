import type { RequestListener, ServerResponse } from 'node:http'
import { CodeContext, CodeItem, CodeResult, pageOf } from '@holt/protocol'
import { byLength } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maxItemBytes } from '../../../src/inside/code/read-bridge-items.ts'
import { anyJson } from '../../support/arbitrary-of-schema.ts'
import { type CodeServer, startCodeServer } from '../../support/fake-bridge.ts'

const attack = '$(touch /tmp/PWNED)'

const run = ({ ask, contexts }: CodeServer, more: object = {}, headers: Record<string, string> = {}) =>
  ask('POST', `${contexts}/run`, { json: { code: 'x', ...more }, headers })

const start = { type: 'start', cursor: 1, run_id: 'cr1', context_id: 'default-python' }
const end = { type: 'end', cursor: 9, status: 'ok', execution_count: 1, truncated: false, duration_ms: 1 }

/** A bridge that answers a run with these lines. */
const lines =
  (...all: readonly unknown[]): RequestListener =>
  (_, response) => {
    response.writeHead(200)
    response.end(all.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  }

/** Writes a text for as long as somebody reads. */
function writeForever(response: ServerResponse, text: string, status = 200): void {
  const more = () => {
    while (!response.destroyed && response.write(text));
    if (!response.destroyed) response.once('drain', more)
  }
  response.writeHead(status)
  more()
}

const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`
const display = (data: unknown) => `{"type":"display","cursor":2,"data":${JSON.stringify(data)},"metadata":{}}`

test.each<[string, RequestListener]>([
  ['no HTTP', (request) => request.socket.end('SSH-2.0-OpenSSH\r\n')],
  ['nothing', (request) => request.socket.end()],
  ['a status of its own', (_, response) => response.writeHead(599).end(attack)],
  ['a redirection', (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()],
  ['an upgrade', (request) => request.socket.end('HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')],
  ['a huge head', (_, response) => response.writeHead(200, { 'x-a': 'a'.repeat(100_000) }).end()],
  ['a refusal without a code', (_, response) => response.writeHead(400).end(attack)],
  ['an endless refusal', (_, response) => writeForever(response, attack, 400)],
  ['a page', lines('<html>')],
  ['half of an item', lines('{"type":"start"')],
  ['a number as text', lines(start, { type: 'stdout', cursor: 2, text: 7 }, end)],
  ['a cursor that is no number', lines(start, { type: 'stdout', cursor: '2', text: attack }, end)],
  ['a negative cursor', lines(start, { type: 'stdout', cursor: -1, text: attack }, end)],
  ['a broken cursor', lines(start, { type: 'stdout', cursor: 1.5, text: attack }, end)],
  ['a huge cursor', lines(start, '{"type":"stdout","cursor":1e400,"text":"x"}', end)],
  ['a cursor beyond exact integers', lines(start, { type: 'stdout', cursor: 2 ** 60, text: attack }, end)],
  ['a huge duration', lines(start, '{"type":"end","cursor":2,"status":"ok","duration_ms":1e300}')],
  ['an unknown end', lines(start, { ...end, status: attack })],
  ['an id that is no id', lines({ ...start, context_id: attack }, end)],
  ['a deep value', lines(start, `{"type":"display","cursor":2,"data":{"application/json":${deep}}}`, end)],
  ['a value of many values', lines(start, display({ 'application/json': Array(300_000).fill([]) }), end)],
  ['many forms', lines(start, display(Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`a/${n}`, '']))), end)],
  ['data that is a list', lines(start, display([]), end)],
  ['a line that never ends', (_, response) => writeForever(response, 'x'.repeat(65_536))],
])('an interpreter that answers %s is reported, without its words', async (_, listener) => {
  const server = await startCodeServer()
  server.replaceBridge(listener)
  const { status, json } = await run(server)
  expect([status, json.error?.code]).toEqual([502, 'code_interpreter_failed'])
  expect(JSON.stringify(json)).not.toContain('PWNED')
  await expect.poll(() => server.engine.guest(server.id)?.ports.connections).toBe(0)
})

test.each<[string, RequestListener, number]>([
  ['a stream without its end', lines(start), 504],
  ['a break', (request) => request.socket.destroy(), 503],
  [
    'a break after its start',
    (_, response) => void response.write(`${JSON.stringify(start)}\n`, () => response.destroy()),
    504,
  ],
])('%s is asked for again, and is an error in the end', async (_, listener, expected) => {
  const server = await startCodeServer()
  let asked = 0
  server.replaceBridge((request, response) => {
    asked += 1
    listener(request, response)
  })
  const { status, json } = await run(server)
  expect([status, json.error.code]).toEqual([expected, expected === 503 ? 'unavailable' : 'timeout'])
  expect(asked).toBeGreaterThan(1)
  expect(asked).toBeLessThan(10)
})

test.each([
  ['another process', 'second', 200, 'kernel_died'],
  ['the same process', 'first', 504, 'timeout'],
])('a run that %s does not know any more ends so', async (_, instance, expected, told) => {
  const server = await startCodeServer()
  server.replaceBridge((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(404, { 'x-holt-interpreter': instance })
      response.end(JSON.stringify({ code: 'run_not_found', message: attack }))
      return
    }
    response.writeHead(200, { 'x-holt-interpreter': 'first' })
    const shown = { type: 'stdout', cursor: 2, text: 'before' }
    response.write(`${JSON.stringify(start)}\n${JSON.stringify(shown)}\n`, () => request.socket.end())
  })
  const { status, json } = await run(server)
  expect([status, json.status ?? json.error.code]).toEqual([expected, told])
  if (status !== 200) return
  expect(json).toMatchObject({ stdout: 'before', error: { name: 'InterpreterKilled' }, state_lost: true })
  expect(json.truncated).toEqual({ stdout: true, stderr: true, results: true })
})

test.each([
  ['in the default context', ''],
  ['in a context', '/default-python'],
])('a run %s whose interpreter is killed before its first item begins and ends', async (_, place) => {
  const server = await startCodeServer()
  server.replaceBridge((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(404, { 'x-holt-interpreter': 'second' })
      response.end(JSON.stringify({ code: 'run_not_found', message: attack }))
      return
    }
    response.writeHead(200, { 'x-holt-interpreter': 'first' })
    response.flushHeaders()
    setImmediate(() => request.socket.end())
  })
  const { ask, contexts } = server
  const path = `${contexts}${place}/run`
  const { text } = await ask('POST', path, { json: { code: 'x' }, headers: { accept: 'application/x-ndjson' } })
  const items = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(items.map(({ type, cursor }) => [type, cursor])).toEqual([
    ['start', 0],
    ['error', 1],
    ['end', 2],
  ])
  expect(items[0]).toMatchObject({ context_id: 'default-python' })
  const { json } = await ask('POST', path, { json: { code: 'x' } })
  expect(json).toMatchObject({ context_id: 'default-python', status: 'kernel_died', state_lost: true })
})

test('an interpreter that never answers is left when its client leaves', async () => {
  const server = await startCodeServer()
  server.replaceBridge(() => {})
  const leaving = new AbortController()
  const { ask, contexts, engine, id } = server
  const waiting = ask('POST', `${contexts}/run`, { json: { code: 'x' }, signal: leaving.signal })
  await expect.poll(() => engine.guest(id)?.ports.connections).toBe(1)
  leaving.abort()
  await expect(waiting).rejects.toThrow()
  await expect.poll(() => engine.guest(id)?.ports.connections).toBe(0)
})

test('output without end is bounded in the answer, and in the memory for it', async () => {
  const server = await startCodeServer()
  const piece = `${JSON.stringify({ type: 'stdout', cursor: 2, text: 'x'.repeat(65_000) })}\n`
  server.replaceBridge((_, response) => {
    response.writeHead(200).write(`${JSON.stringify(start)}\n`)
    for (let n = 0; n < 1000; n += 1) response.write(piece)
    response.end(`${JSON.stringify(end)}\n`)
  })
  const { json } = await run(server)
  expect([json.stdout.length, json.truncated.stdout, json.status]).toEqual([2 ** 20, true, 'ok'])
})

test('results that do not fit are left out, each that fits is kept, and updates take no more room', async () => {
  const server = await startCodeServer()
  const picture = 'a'.repeat(1_000_000)
  const shown = (id: number) => ({
    type: 'display',
    cursor: 2,
    data: { 'image/png': picture, 'text/plain': String(id) },
    display_id: String(id),
  })
  const updates = Array.from({ length: 30 }, () => ({ ...shown(0), type: 'update_display' }))
  server.replaceBridge(lines(start, shown(0), ...updates, ...Array.from({ length: 12 }, (_, n) => shown(n + 1)), end))
  const { json } = await run(server)
  const pictures = json.results.filter(({ data }: { data: object }) => 'image/png' in data)
  expect([json.results.length, pictures.length, json.truncated.results]).toEqual([13, 8, true])
})

test('an item for which a project has no memory is left out', async () => {
  const server = await startCodeServer()
  const huge = display({ 'image/png': 'a'.repeat(maxItemBytes - 1000) })
  server.replaceBridge(lines(start, huge, { type: 'stdout', cursor: 3, text: 'after' }, end))
  const many = Array.from({ length: 6 }, () => run(server, { max_result_bytes: 0 }))
  const answers = await Promise.all(many)
  for (const { status, json } of answers) expect([status, json.stdout]).toEqual([200, 'after'])
  for (const { json } of answers) expect(json.truncated.results).toBe(true)
})

test('an item of a newer interpreter is left out', async () => {
  const server = await startCodeServer()
  server.replaceBridge(
    lines(start, { type: 'sound', cursor: 2, data: 7 }, { type: 'stdout', cursor: 3, text: 'a' }, end),
  )
  expect((await run(server)).json).toMatchObject({ status: 'ok', stdout: 'a' })
})

test('text in place of text, and JSON only as JSON', async () => {
  const server = await startCodeServer()
  const data = { 'text/plain': 7, 'image/png': { a: 1 }, 'application/json': { a: 1 }, 'application/geo+json': [1] }
  server.replaceBridge(lines(start, display(data), end))
  expect((await run(server)).json.results[0].data).toEqual({
    'application/json': { a: 1 },
    'application/geo+json': [1],
  })
})

const item = fc.record(
  {
    type: fc.oneof(
      fc.constantFrom(
        'start',
        'stdout',
        'stderr',
        'display',
        'result',
        'update_display',
        'clear_output',
        'error',
        'end',
      ),
      anyJson,
    ),
    cursor: fc.oneof(fc.nat(), anyJson),
    text: fc.oneof(fc.string(), anyJson),
    data: fc.oneof(fc.dictionary(fc.string(), anyJson), anyJson),
    metadata: anyJson,
    main: fc.oneof(fc.boolean(), anyJson),
    display_id: fc.oneof(fc.string(), anyJson),
    wait: anyJson,
    name: fc.oneof(fc.string(), anyJson),
    value: fc.oneof(fc.string(), anyJson),
    traceback: fc.oneof(fc.array(fc.string()), anyJson),
    status: fc.oneof(fc.constantFrom('ok', 'error'), anyJson),
    execution_count: anyJson,
    duration_ms: anyJson,
    truncated: anyJson,
    context_id: fc.oneof(fc.constant('default-python'), anyJson),
    run_id: anyJson,
  },
  { requiredKeys: ['type', 'cursor', 'text'] },
)
const line = fc.oneof({ weight: 8, arbitrary: item }, { weight: 1, arbitrary: anyJson }, fc.string())

test('answers and items keep to their schemas for any items of an interpreter', async () => {
  const server = await startCodeServer()
  const accept = 'application/x-ndjson'
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 5 }), async (all) => {
      server.replaceBridge(lines(start, ...all, end))
      const { status, json } = await run(server)
      if (status === 200) expect(CodeResult.safeParse(json).error).toBeUndefined()
      else expect([status, json.error.code]).toEqual([502, 'code_interpreter_failed'])
      // A stream that is cut has no whole answer.
      const streamed = await run(server, {}, { accept }).catch(() => null)
      expect(streamed === null || status === 200).toBe(true)
      for (const text of streamed?.text.trim().split('\n') ?? [])
        expect(CodeItem.safeParse(JSON.parse(text)).error).toBeUndefined()
    }),
    { numRuns: byLength({ short: 50, long: 500, soak: 5000 }) },
  )
  expect(server.logged.filter(({ message }) => message === 'a request failed')).toEqual([])
}, 120_000)

test('contexts keep to their schema', async () => {
  const server = await startCodeServer()
  const context = {
    context_id: 'a',
    language: 'python',
    cwd: '/',
    state: 'idle',
    execution_count: 1,
    created_at: '2026-01-01T00:00:00Z',
  }
  let told: object = context
  server.replaceBridge((_, response) => response.end(JSON.stringify({ contexts: [told] })))
  expect(pageOf(CodeContext).safeParse((await server.ask('GET', server.contexts)).json).error).toBeUndefined()
  for (const lie of [
    { context_id: attack },
    { language: attack },
    { state: attack },
    { execution_count: 1e300 },
    { execution_count: -1 },
    { created_at: attack },
    { created_at: '9999-99-99T00:00:00Z' },
    { cwd: 'x'.repeat(10_000) },
  ]) {
    told = { ...context, ...lie }
    const { status, json } = await server.ask('GET', server.contexts)
    expect([lie, status, json.error?.code]).toEqual([lie, 502, 'code_interpreter_failed'])
    expect(JSON.stringify(json)).not.toContain('PWNED')
  }
})
