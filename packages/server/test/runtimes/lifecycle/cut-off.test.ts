import { EngineError } from '@holt/engine'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { steeredEngine } from '../../support/steered-engine.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'
const pollTimeout = { timeout: 10_000 }
const checkpointId = 'cpaaaaaaaaaaaaaaaaaaaa'
/** Later than every sweep: only who asks for the runtime finds that nobody works on it. */
const unseen = 'updated_at = 9000000000000'
const pausing = `UPDATE runtimes SET state = 'pausing', pause_checkpoint_id = '${checkpointId}'`

async function rowOf({ stateDir }: TestServer, id: string): Promise<{ state: string; state_reason_json: string }> {
  const [row] = await storedRows(stateDir, `SELECT state, state_reason_json FROM runtimes WHERE runtime_id = '${id}'`)
  return row
}

async function serverWithRuntime(engine: FakeEngine, body: object = {}) {
  const server = await startTestServer({ engine })
  const id = await server.makeRuntime(body)
  await server.ask('PUT', `${path}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
  const stateOf = async (of: TestServer) => (await of.ask('GET', `${path}/${id}`)).json.state
  return { server, id, stateOf }
}

async function expectKept({ ask }: TestServer, id: string): Promise<void> {
  expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
}

/**
 * Resolves when what was asked before is at work: what is asked after it has been answered, several
 * times.
 */
async function hasArrived({ ask }: TestServer): Promise<void> {
  for (let count = 0; count < 5; count += 1) await ask('GET', path)
}

const take = (engine: FakeEngine, id: string) =>
  engine.ability('checkpoints')?.take(id, checkpointId, AbortSignal.timeout(5_000))

describe('a pause or resume that a crash interrupted', () => {
  test('before the thaw continues the runtime, thawed and with its network', async () => {
    const { engine } = steeredEngine()
    const network_policy = { allow: [{ host: 'api.example.com' }] }
    const { server, id, stateOf } = await serverWithRuntime(engine, { network_policy })
    await server.close()
    await engine.ability('freezer')?.freeze(id)
    await tamper(server.stateDir, pausing)
    const next = await server.restart()
    await expect.poll(() => stateOf(next), pollTimeout).toBe('running')
    expect((await engine.inspect(id))?.frozen).toBe(false)
    await expect.poll(() => next.gateway.of(id)?.hosts, pollTimeout).toEqual(['api.example.com'])
    await expectKept(next, id)
  })

  test.each([
    ['incompatible', 'snapshot_incompatible'],
    ['damaged', 'snapshot_damaged'],
  ] as const)('with a checkpoint that is %s here keeps the checkpoint, and says so', async (problem, code) => {
    const { engine } = steeredEngine()
    const { server, id, stateOf } = await serverWithRuntime(engine)
    await server.close()
    await tamper(server.stateDir, pausing)
    await take(engine, id)
    engine.spoil(checkpointId, problem)
    const next = await server.restart()
    await expect.poll(() => stateOf(next), pollTimeout).toBe('paused')
    expect((await next.ask('GET', `${path}/${id}`)).json.state_reason.code).toBe(code)
    expect(await engine.ability('checkpoints')?.usable(checkpointId)).toMatchObject({ problem })
  })

  test('and ends paused does not answer the request to run', async () => {
    const { engine, hold } = steeredEngine()
    const { server, id } = await serverWithRuntime(engine)
    await server.ask('POST', `${path}/${id}/pause`)
    await server.close()
    await tamper(server.stateDir, `UPDATE runtimes SET state = 'resuming'`)
    const { reached, release } = hold('remove')
    const next = await server.restart()
    await reached
    const resuming = next.ask('POST', `${path}/${id}/resume`)
    await hasArrived(next)
    release()
    expect((await resuming).json.state).toBe('running')
    await expectKept(next, id)
  })

  test('and ends running does not answer the request to pause', async () => {
    const { engine, hold } = steeredEngine()
    const { server, id } = await serverWithRuntime(engine)
    await server.close()
    await tamper(server.stateDir, pausing)
    const { reached, release } = hold('dial')
    const next = await server.restart()
    await reached
    const paused = next.ask('POST', `${path}/${id}/pause`)
    await hasArrived(next)
    release()
    expect((await paused).json.state).toBe('paused')
    await expectKept(next, id)
  })
})

test('is completed for the next request', async () => {
  const { engine } = steeredEngine()
  const { server, id } = await serverWithRuntime(engine)
  const { ask } = server
  await tamper(server.stateDir, `${pausing}, ${unseen}`)
  await expectKept(server, id)
  await tamper(server.stateDir, `${pausing}, ${unseen}`)
  expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
  await tamper(server.stateDir, `UPDATE runtimes SET state = 'resuming', ${unseen}`)
  expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  await ask('POST', `${path}/${id}/pause`)
  await tamper(server.stateDir, `UPDATE runtimes SET state = 'resuming', auto_resume = 0, ${unseen}`)
  const refused = await ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)
  expect(refused.json.error.code).toBe('runtime_paused')
})

describe('a committed change whose error is observed', () => {
  test('of a resume: the runtime runs', async () => {
    const { engine, next } = steeredEngine()
    const { server, id } = await serverWithRuntime(engine)
    await server.ask('POST', `${path}/${id}/pause`)
    next.dial = async () => {
      await tamper(server.stateDir, `UPDATE runtimes SET state = 'running', pause_checkpoint_id = NULL`)
      throw new EngineError('failed', 'what was written may not be durable')
    }
    expect((await server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
    expect(await engine.inspect(id)).not.toBeNull()
  })

  test('of a pause: the follower of an output waits', async () => {
    const { engine, next } = steeredEngine()
    const { server, id } = await serverWithRuntime(engine)
    const { ask } = server
    const commands = `${path}/${id}/commands`
    const { command_id } = (await ask('POST', commands, { json: { command: 'cat', stdin: true, background: true } }))
      .json
    const following = ask('GET', `${commands}/${command_id}/output?follow=true`)
    next.remove = async () => {
      await tamper(server.stateDir, `UPDATE runtimes SET state = 'paused'`)
      throw new EngineError('failed', 'what was written may not be durable')
    }
    expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('paused')
    await ask('POST', `${commands}/${command_id}/stdin`, { json: { data: 'after', eof: true } })
    expect((await following).text).toContain('after')
  })
})

test.each(['create', 'resume'])(
  'a %s that fails as a delete begins answers that the runtime is deleted',
  async (what) => {
    const { engine, next } = steeredEngine()
    const server = await startTestServer({ engine })
    const id = what === 'resume' ? await server.makeRuntime() : null
    if (id !== null) await server.ask('POST', `${path}/${id}/pause`)
    next.dial = async () => {
      await tamper(server.stateDir, `UPDATE runtimes SET state = 'terminating', revision = revision + 1`)
      throw new EngineError('unavailable', 'no guest')
    }
    const { status, json } = await server.ask('POST', id === null ? path : `${path}/${id}/resume`, { json: {} })
    expect([status, json.error.code]).toEqual([410, 'runtime_terminated'])
    const states = async () => (await server.ask('GET', path)).json.data.map(({ state }: { state: string }) => state)
    await expect.poll(states).toEqual(['terminated'])
  },
)

test('an on_restore that fails at a resume blocks nobody, and the runtime reports it', async () => {
  const { engine } = steeredEngine()
  const { server, id } = await serverWithRuntime(engine)
  await tamper(
    server.stateDir,
    `UPDATE runtimes SET source_json = replace(source_json, '"onRestore":null', '"onRestore":"false"')`,
  )
  await server.ask('POST', `${path}/${id}/pause`)
  const resumed = (await server.ask('POST', `${path}/${id}/resume`)).json
  expect(resumed).toMatchObject({ state: 'running', state_reason: { code: 'on_restore_failed' } })
  expect(resumed.state_reason.message).toContain('exited with code 1')
  await expectKept(server, id)
  expect((await server.ask('POST', `${path}/${id}/pause`)).json.state_reason.code).toBe('requested')
  await expectKept(server, id)
})

test('memory of a resume is counted once, also by creates', async () => {
  const { engine, hold } = steeredEngine()
  const freeMemoryMiB = { now: 60_000 }
  const server = await startTestServer({ engine, freeMemoryMiB: async () => freeMemoryMiB.now })
  const id = await server.makeRuntime()
  await server.ask('POST', `${path}/${id}/pause`)
  // The system's reserve, what the checkpoint brings back, and what a start costs.
  freeMemoryMiB.now = Math.round(64 * 1024 * 0.05) + 1 + 48
  const { reached, release } = hold('ensure')
  const resuming = server.ask('POST', `${path}/${id}/resume`)
  expect(await Promise.race([reached, resuming])).toBeUndefined()
  expect((await server.ask('POST', path, { json: {} })).json.error?.code).toBe('capacity_exhausted')
  release()
  expect((await resuming).json.state).toBe('running')
})

test('a stop of the service cancels a resume, and the runtime stays paused', async () => {
  const { engine, hold } = steeredEngine()
  const { server, id } = await serverWithRuntime(engine)
  await server.ask('POST', `${path}/${id}/pause`)
  const { reached, release } = hold('ensure')
  const resuming = server.ask('POST', `${path}/${id}/resume`).catch(() => null)
  await reached
  const closing = server.close()
  release()
  await closing
  await resuming
  expect((await rowOf(server, id)).state).toBe('paused')
  expect(JSON.parse((await rowOf(server, id)).state_reason_json).code).toBe('interrupted')
  await expectKept(await server.restart(), id)
})

test('a delete during a scheduled pause is no error of the service', async () => {
  const { engine, hold } = steeredEngine()
  const { server, id } = await serverWithRuntime(engine)
  const { reached, release } = hold('take')
  await tamper(server.stateDir, 'UPDATE runtimes SET expires_at = 1')
  await reached
  const deleting = server.ask('DELETE', `${path}/${id}`)
  await expect.poll(async () => (await rowOf(server, id)).state).toBe('terminating')
  release()
  expect((await deleting).status).toBe(204)
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('a scheduled pause that completes before a delete is no error either', async () => {
  const { engine, hold } = steeredEngine()
  const { server, id } = await serverWithRuntime(engine)
  const { reached, release } = hold('take')
  await tamper(server.stateDir, 'UPDATE runtimes SET expires_at = 1')
  await reached
  await tamper(server.stateDir, "UPDATE runtimes SET state = 'terminating'")
  release()
  await expect.poll(async () => (await rowOf(server, id)).state, pollTimeout).toBe('terminated')
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
})
