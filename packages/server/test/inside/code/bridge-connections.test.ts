import type { RequestListener, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startCodeServer } from '../../support/fake-bridge.ts'

const start = { type: 'start', cursor: 1, run_id: 'cr1', context_id: 'default-python' }
const end = { type: 'end', cursor: 2, status: 'ok', execution_count: 1, truncated: false, duration_ms: 1 }
const answer = `${JSON.stringify(start)}\n${JSON.stringify(end)}\n`

/** Starts a server, and counts the connections on which its bridge got requests. */
async function startCounted(listener: RequestListener) {
  const server = await startCodeServer()
  const seen = new Set<unknown>()
  server.replaceBridge((request, response) => {
    seen.add(request.socket)
    listener(request, response)
  })
  const run = (more: object = {}) => server.ask('POST', `${server.contexts}/run`, { json: { code: 'x', ...more } })
  const open = () => server.engine.guest(server.id)?.ports.connections
  return { ...server, run, open, seen }
}

test('runs one after the other use one connection, and runs at once do not share one', async () => {
  const waiting: ServerResponse[] = []
  let together = 1
  const { run, open, seen } = await startCounted((_, response) => {
    waiting.push(response)
    if (waiting.length === together) for (const each of waiting.splice(0)) each.end(answer)
  })
  for (let n = 0; n < 3; n += 1) expect((await run()).json.status).toBe('ok')
  expect([open(), seen.size]).toEqual([1, 1])
  together = 5
  const answers = await Promise.all(Array.from({ length: 5 }, () => run()))
  expect(answers.map(({ json }) => json.status)).toEqual(Array(5).fill('ok'))
  expect(seen.size).toBe(5)
  // Few of them wait for another request.
  await expect.poll(open).toBeLessThanOrEqual(2)
})

test('a connection is used again only after the whole answer, and not for another runtime', async () => {
  const late = Promise.withResolvers<void>()
  let asked = 0
  const { ask, run, seen, makeRuntime } = await startCounted(async (_, response) => {
    asked += 1
    response.write(answer)
    if (asked === 1) await late.promise
    response.end()
  })
  expect((await run()).json.status).toBe('ok')
  expect((await run()).json.status).toBe('ok')
  expect(seen.size).toBe(2)
  late.resolve()
  const other = await makeRuntime()
  const missing = await ask('POST', `/v1/agents/runtime/${other}/contexts/run`, { json: { code: 'x' } })
  expect(missing.json.error.code).toBe('code_interpreter_missing')
})

test.each<[string, RequestListener]>([
  [
    'closes its side',
    (request, response) => {
      response.end(answer)
      setImmediate(() => request.socket.end())
    },
  ],
  [
    'breaks',
    (request, response) => {
      response.end(answer)
      setImmediate(() => request.socket.destroy())
    },
  ],
  [
    'has an answer before a request',
    (request, response) => {
      response.end(answer)
      request.socket.write('HTTP/1.1 500 No\r\ncontent-length: 1\r\n\r\nx')
    },
  ],
  [
    'ends at the next request',
    (request, response) => {
      response.end(answer)
      request.socket.removeAllListeners('data').on('data', () => request.socket.end())
    },
  ],
  ['is not kept', (_, response) => void response.writeHead(200, { connection: 'close' }).end(answer)],
])('a connection that %s after an answer costs no run', async (_, listener) => {
  const { run, open } = await startCounted(listener)
  for (let n = 0; n < 4; n += 1) {
    const { status, json } = await run()
    expect([status, json.status]).toEqual([200, 'ok'])
  }
  await expect.poll(open).toBeLessThanOrEqual(2)
})

test('a connection that waits neither keeps a runtime awake nor survives its pause', async () => {
  const { ask, run, open, id, seen } = await startCounted((_, response) => response.end(answer))
  await run()
  expect(open()).toBe(1)
  const path = `/v1/agents/runtime/${id}`
  expect((await ask('POST', `${path}/pause`)).status).toBeLessThan(300)
  expect((await run()).json.status).toBe('ok')
  expect(seen.size).toBe(2)
})
