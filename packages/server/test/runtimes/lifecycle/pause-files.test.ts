import type { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

const path = '/v1/agents/runtime'

const checkpointsOf = async (engine: FakeEngine) => (await engine.ability('checkpoints')?.list())?.length ?? 0
const imagesOf = async (engine: FakeEngine) => (await engine.ability('images')?.list())?.length ?? 0

/** A running runtime with a file and a program. */
async function withProgram({ ask }: E2bServer, id: string): Promise<void> {
  const written = await ask('PUT', `${path}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
  expect(written.status).toBe(201)
  const program = { command: 'cat', stdin: true, background: true }
  expect((await ask('POST', `${path}/${id}/commands`, { json: program })).status).toBe(201)
}

async function expectRebooted({ ask }: E2bServer, id: string): Promise<void> {
  expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
  expect((await ask('GET', `${path}/${id}/commands`)).json.data).toEqual([])
}

const withoutMemory = { json: { memory: false } }

test('a pause of the files keeps nothing else, and a resume boots', async () => {
  const server = await startE2bServer()
  const { ask, e2b, engine, gateway } = server
  const id = await server.makeRuntime({ auto_resume: false, network_policy: { allow: [{ host: 'api.example.com' }] } })
  await withProgram(server, id)
  const before = [await checkpointsOf(engine), await imagesOf(engine)]
  expect(await e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)).toMatchObject({ status: 204, text: '' })
  expect(await e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)).toMatchObject({ status: 409 })
  expect(await engine.inspect(id)).toBeNull()
  expect([await checkpointsOf(engine), await imagesOf(engine)]).toEqual([before[0], (before[1] ?? 0) + 1])
  expect(gateway.of(id)).toBeNull()
  const paused = (await ask('GET', `${path}/${id}`)).json
  expect(paused).toMatchObject({ state: 'paused', expires_at: null, state_reason: { code: 'requested' } })
  expect(paused.paused_at).not.toBeNull()
  expect(await e2b('POST', `/v2/sandboxes/${id}/connect`)).toMatchObject({ status: 201, json: { sandboxID: id } })
  expect((await engine.inspect(id))?.restored).toBe(false)
  expect(gateway.of(id)?.hosts).toEqual(['api.example.com'])
  await expectRebooted(server, id)
})

test('each further pause keeps what was written since, and the images of earlier ones are removed', async () => {
  const server = await startE2bServer()
  const { ask, e2b, engine } = server
  const id = await server.makeRuntime()
  const before = await imagesOf(engine)
  for (const name of ['one', 'two', 'three']) {
    await ask('PUT', `${path}/${id}/files/content?path=/workspace/${name}`, { body: name })
    expect((await e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)).status).toBe(204)
    expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  }
  for (const name of ['one', 'two', 'three'])
    expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/${name}`)).text).toBe(name)
  await expect.poll(() => imagesOf(engine)).toBe(before + 1)
  // Changes are told from the template that it was made of.
  expect((await ask('GET', `${path}/${id}/diff`)).json.since.type).toBe('template')
})

test('a runtime with files of its own pauses with its memory, and is forked', async () => {
  const server = await startE2bServer()
  const { ask, e2b } = server
  const id = await server.makeRuntime()
  await withProgram(server, id)
  await e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)
  await ask('POST', `${path}/${id}/resume`)
  expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
  expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  const { data } = (await ask('POST', `${path}/${id}/fork`, { json: { count: 1 } })).json
  const child = data[0].runtime.runtime_id
  await e2b('POST', `/sandboxes/${child}/pause`, withoutMemory)
  await expectRebooted(server, child)
})

test('a connect without memory boots a runtime that was paused with it', async () => {
  const server = await startE2bServer()
  const { ask, e2b, engine } = server
  const id = await server.makeRuntime()
  await withProgram(server, id)
  const before = await checkpointsOf(engine)
  await ask('POST', `${path}/${id}/pause`)
  expect(await checkpointsOf(engine)).toBe(before + 1)
  expect((await e2b('POST', `/v2/sandboxes/${id}/connect`, withoutMemory)).status).toBe(201)
  expect((await engine.inspect(id))?.restored).toBe(false)
  await expectRebooted(server, id)
  await expect.poll(() => checkpointsOf(engine)).toBe(before)
  // A running sandbox continues.
  const program = { command: 'cat', stdin: true, background: true }
  await ask('POST', `${path}/${id}/commands`, { json: program })
  expect((await e2b('POST', `/v2/sandboxes/${id}/connect`, withoutMemory)).status).toBe(200)
  expect((await ask('GET', `${path}/${id}/commands`)).json.data).toHaveLength(1)
})

test('old clients resume without memory, too', async () => {
  const server = await startE2bServer()
  const id = await server.makeRuntime()
  await withProgram(server, id)
  await server.ask('POST', `${path}/${id}/pause`)
  expect((await server.e2b('POST', `/sandboxes/${id}/resume`, withoutMemory)).status).toBe(201)
  await expectRebooted(server, id)
})

test('a pause at the end of the life keeps what the create says', async () => {
  const server = await startE2bServer()
  const { ask, e2b, engine } = server
  const create = { templateID: 'base', autoPause: true, autoPauseMemory: false }
  const { sandboxID: id } = (await e2b('POST', '/v2/sandboxes', { json: create })).json
  await withProgram(server, id)
  const before = await checkpointsOf(engine)
  expect((await e2b('POST', `/sandboxes/${id}/timeout`, { json: { timeout: 0 } })).status).toBe(204)
  await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state, { timeout: 10_000 }).toBe('paused')
  expect((await ask('GET', `${path}/${id}`)).json.state_reason.code).toBe('timeout')
  expect(await checkpointsOf(engine)).toBe(before)
  await e2b('POST', `/sandboxes/${id}/connect`, { json: { timeout: 60 } })
  await expectRebooted(server, id)
})

test('a runtime can be deleted while it is paused with its files, and leaves no image', async () => {
  const server = await startE2bServer()
  const id = await server.makeRuntime()
  const before = await imagesOf(server.engine)
  await server.ask('PUT', `${path}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
  await server.e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)
  expect((await server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
  await expect.poll(() => imagesOf(server.engine)).toBe(before)
})

test('the files of a paused runtime stay over a restart of the service', async () => {
  const server = await startE2bServer()
  const id = await server.makeRuntime()
  await withProgram(server, id)
  await server.e2b('POST', `/sandboxes/${id}/pause`, withoutMemory)
  const next = await server.restart()
  expect((await next.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  expect((await next.ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
})
