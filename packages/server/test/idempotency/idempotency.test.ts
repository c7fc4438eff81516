import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine/fake'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openSealed, seal } from '../../src/idempotency/sealed-answer.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { storedBytes } from '../support/test-store.ts'

const path = '/v1/agents/runtime'
const create = ({ ask }: TestServer, key: string, json: object = {}) =>
  ask('POST', path, { json, headers: { 'idempotency-key': key } })

test('the same key and request make one runtime and the same answer, also after a restart', async () => {
  const server = await startTestServer()
  const first = await create(server, 'k1', { name: 'one', metadata: { a: '1', b: '2' } })
  const second = await create(server, 'k1', { metadata: { b: '2', a: '1' }, name: 'one' })
  expect(second.text).toBe(first.text)
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true'])
  const third = await create(await server.restart(), 'k1', { name: 'one', metadata: { a: '1', b: '2' } })
  expect([third.status, third.text]).toEqual([201, first.text])
})

test('the same key for another request is refused', async () => {
  const server = await startTestServer()
  await create(server, 'k1')
  expect((await create(server, 'k1', { template: 'base-medium' })).json.error.code).toBe('idempotency_mismatch')
  expect(
    (await server.ask('POST', '/v1/agents/key', { json: { name: 'x' }, headers: { 'idempotency-key': 'k1' } })).json
      .error.code,
  ).toBe('idempotency_mismatch')
})

test('a request that still runs is in progress', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: tell } = Promise.withResolvers<void>()
  let holding = false
  const engine = new FakeEngine({
    before: async (verb) => {
      if (verb !== 'ensure' || !holding) return
      tell()
      await held
    },
  })
  const server = await startTestServer({ engine })
  holding = true
  const first = create(server, 'k1')
  await begun
  expect((await create(server, 'k1')).json.error.code).toBe('idempotency_in_progress')
  release()
  expect((await first).status).toBe(201)
})

test('a refusal is kept; a failure that asks to try again is not', async () => {
  let failing = false
  const engine = new FakeEngine({
    before: (verb) => {
      if (failing && verb === 'ensure') throw new EngineError('failed', 'not now')
    },
  })
  const server = await startTestServer({ engine })
  expect((await create(server, 'bad', { template: 'none' })).status).toBe(404)
  expect((await create(server, 'bad', { template: 'none' })).headers.get('idempotent-replayed')).toBeNull()
  failing = true
  expect((await create(server, 'k1')).status).toBe(503)
  failing = false
  expect((await create(server, 'k1')).status).toBe(201)
})

test('a command is not started twice', async () => {
  const server = await startTestServer()
  const commands = `${path}/${await server.makeRuntime()}/commands`
  const run = (accept: string) =>
    server.ask('POST', commands, {
      json: { command: 'echo once' },
      headers: { 'idempotency-key': `k ${accept}`.replace(' ', '-'), accept },
    })
  for (const accept of ['application/json', 'text/event-stream']) {
    const [first, second] = [await run(accept), await run(accept)]
    expect(second.text).toBe(first.text)
  }
  expect((await server.ask('GET', commands)).json.data).toHaveLength(2)
})

test('the secret of a new key is answered again and is not in the database', async () => {
  const server = await startTestServer()
  const make = () => server.ask('POST', '/v1/agents/key', { json: { name: 'x' }, headers: { 'idempotency-key': 'k1' } })
  const first = await make()
  expect((await make()).json.key).toBe(first.json.key)
  await server.close()
  const stored = await storedBytes(server.stateDir)
  expect(stored.includes(first.json.key_id)).toBe(true)
  expect(stored.includes(first.json.key)).toBe(false)
  expect(stored.includes(server.server.adminKey)).toBe(false)
})

test("the answer of one key of a project is not another key's", async () => {
  const server = await startTestServer()
  const { key } = await server.makeKey('runtime:write')
  await create(server, 'k1')
  expect(
    (await server.ask('POST', path, { json: {}, key, headers: { 'idempotency-key': 'k1' } })).json.error.code,
  ).toBe('idempotency_mismatch')
})

test.each(['', ' ', 'a b', 'x'.repeat(256)])('the key %.10j is refused', async (key) => {
  const server = await startTestServer()
  expect((await create(server, key)).json.error.code).toBe('invalid_request')
})

test('what is sealed opens with its secret only', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (text, secret, other) => {
      const sealed = seal(text.toWellFormed(), secret)
      expect(openSealed(sealed, secret)).toBe(text.toWellFormed())
      if (other !== secret) expect(openSealed(sealed, other)).toBeNull()
    }),
  )
})
