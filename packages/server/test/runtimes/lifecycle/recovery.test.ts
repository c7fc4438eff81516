import type { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { steeredEngine } from '../../support/steered-engine.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'
const pollTimeout = { timeout: 10_000 }
const signal = () => AbortSignal.timeout(5_000)

async function rowOf({ stateDir }: TestServer, id: string): Promise<{ pause_checkpoint_id: string | null }> {
  const [row] = await storedRows(stateDir, `SELECT * FROM runtimes WHERE runtime_id = '${id}'`)
  return row
}

function checkpoints(engine: FakeEngine) {
  const ability = engine.ability('checkpoints')
  if (ability === null) throw new Error('it has no checkpoints')
  return ability
}

/** A service whose runtime has a file, and its end. */
async function closedWithRuntime(before: (server: TestServer, id: string) => Promise<unknown> = async () => {}) {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  await server.ask('PUT', `${path}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
  await before(server, id)
  await server.close()
  return { server, id, engine: server.engine }
}

async function expectKept({ ask }: TestServer, id: string): Promise<void> {
  expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
}

const pausing = `UPDATE runtimes SET state = 'pausing', pause_checkpoint_id = 'cpaaaaaaaaaaaaaaaaaaaa'`

describe('after a crash', () => {
  test('before a checkpoint the runtime continues', async () => {
    const { server, id } = await closedWithRuntime()
    await tamper(server.stateDir, pausing)
    const next = await server.restart()
    await expect.poll(async () => (await next.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('running')
    expect((await rowOf(next, id)).pause_checkpoint_id).toBeNull()
    await expectKept(next, id)
  })

  test('during a pause, a frozen runtime continues', async () => {
    const { server, id, engine } = await closedWithRuntime()
    await tamper(server.stateDir, pausing)
    await engine.ability('freezer')?.freeze(id)
    const next = await server.restart()
    await expect.poll(async () => (await next.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('running')
    expect((await engine.inspect(id))?.frozen).toBe(false)
    await expectKept(next, id)
  })

  test('after a checkpoint the runtime is paused', async () => {
    const { server, id, engine } = await closedWithRuntime()
    await tamper(server.stateDir, pausing)
    await checkpoints(engine).take(id, 'cpaaaaaaaaaaaaaaaaaaaa', signal())
    const next = await server.restart()
    await expect.poll(async () => (await next.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('paused')
    await expectKept(next, id)
  })

  test('of the runtime and the service during a pause, the runtime has failed', async () => {
    const { server, id, engine } = await closedWithRuntime()
    await tamper(server.stateDir, pausing)
    engine.end(id, { reason: 'host_restarted', message: '' })
    const next = await server.restart()
    await expect.poll(async () => (await next.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('failed')
    expect((await next.ask('GET', `${path}/${id}`)).json.state_reason.code).toBe('host_restarted')
    await expect.poll(() => engine.inspect(id)).toBeNull()
  })

  test('a paused runtime is paused and can be resumed', async () => {
    const { server, id } = await closedWithRuntime((first, which) => first.ask('POST', `${path}/${which}/pause`))
    const next = await server.restart()
    expect((await next.ask('GET', `${path}/${id}`)).json.state).toBe('paused')
    await expectKept(next, id)
  })

  test.each([true, false])('during a resume the runtime is paused again (the engine has it: %s)', async (made) => {
    const { server, id, engine } = await closedWithRuntime((first, which) =>
      first.ask('POST', `${path}/${which}/pause`),
    )
    await tamper(server.stateDir, `UPDATE runtimes SET state = 'resuming'`)
    if (made) {
      const image = (await engine.ability('images')?.list())?.[0]
      if (image === undefined) throw new Error('there is no image')
      const checkpointId = (await rowOf(server, id)).pause_checkpoint_id
      const size = { cpu: 1, memoryMiB: 1024, diskMiB: 4096, pidsMax: 1024 }
      await engine.ensure({ id, isolation: 'gvisor', imageDigest: image.digest, ...size, checkpointId }, signal())
      await engine.remove('none', signal())
    }
    const next = await server.restart()
    await expect.poll(async () => (await next.ask('GET', `${path}/${id}`)).json.state, pollTimeout).toBe('paused')
    expect((await next.ask('GET', `${path}/${id}`)).json.state_reason.code).toBe('interrupted')
    expect(await engine.inspect(id)).toBeNull()
    await expectKept(next, id)
  })
})

describe('a resume that fails', () => {
  test.each([
    ['damaged', 'snapshot_damaged'],
    ['incompatible', 'snapshot_incompatible'],
    ['absent', 'snapshot_damaged'],
  ] as const)('for a checkpoint that is %s leaves the runtime paused, with the reason', async (problem, code) => {
    const server = await startTestServer()
    const { ask, engine } = server
    const id = await server.makeRuntime()
    await ask('POST', `${path}/${id}/pause`)
    const checkpointId = (await rowOf(server, id)).pause_checkpoint_id ?? ''
    if (problem === 'absent') await checkpoints(engine).remove(checkpointId)
    else engine.spoil(checkpointId, problem)
    const refused = await ask('POST', `${path}/${id}/resume`)
    expect([refused.status, refused.json.error.code]).toEqual([422, code])
    expect((await ask('GET', `${path}/${id}`)).json).toMatchObject({ state: 'paused', state_reason: { code } })
    expect((await ask('POST', `${path}/${id}/commands`, { json: { command: 'true' } })).json.error.code).toBe(code)
    expect(await engine.inspect(id)).toBeNull()
    expect(await checkpoints(engine).usable(checkpointId)).toMatchObject({ problem })
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
  })

  test('is cancelled by a delete', async () => {
    const { engine, hold } = steeredEngine()
    const { ask, makeRuntime } = await startTestServer({ engine })
    const id = await makeRuntime()
    await ask('POST', `${path}/${id}/pause`)
    const { reached, release } = hold('ensure')
    const resuming = ask('POST', `${path}/${id}/resume`)
    await reached
    const deleting = ask('DELETE', `${path}/${id}`)
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toBe('terminating')
    release()
    expect((await deleting).status).toBe(204)
    expect((await resuming).status).toBe(410)
    expect(await engine.inspect(id)).toBeNull()
  })
})

test('every step of a pause and a resume is an event with its reason', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  await server.ask('POST', `${path}/${id}/pause`)
  await server.ask('POST', `${path}/${id}/resume`)
  await server.close()
  const sql = `SELECT type, data_json FROM events WHERE subject_id = '${id}' ORDER BY seq`
  const events = await storedRows(server.stateDir, sql)
  expect(events.map(({ type }) => type)).toEqual([
    'runtime.starting',
    'runtime.running',
    'runtime.pausing',
    'runtime.paused',
    'runtime.resuming',
    'runtime.running',
  ])
  expect(JSON.parse(String(events[2]?.data_json))).toMatchObject({ reason: { code: 'requested' } })
})
