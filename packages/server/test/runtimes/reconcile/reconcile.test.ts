import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test, vi } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'
import { storedRows, tamper } from '../../support/test-store.ts'

const path = '/v1/agents/runtime'

describe('after a restart', () => {
  test('running runtimes still run, with their commands', async () => {
    const first = await startTestServer()
    const id = await first.makeRuntime({ name: 'kept' })
    const { command_id } = (
      await first.ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true, background: true } })
    ).json
    await first.ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'before\n' } })
    const second = await first.restart()
    expect((await second.ask('GET', `${path}/${id}`)).json).toMatchObject({ state: 'running', name: 'kept' })
    await second.ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'after\n', eof: true } })
    const { text } = await second.ask('GET', `${path}/${id}/commands/${command_id}/output?follow=true`)
    expect(text).toContain('before')
    expect(text).toContain('after')
  })

  test('the same key works, and the credentials have the new address', async () => {
    const first = await startTestServer()
    const second = await first.restart()
    expect(second.server.adminKey).toBe(first.server.adminKey)
    expect((await second.ask('GET', path)).status).toBe(200)
  })

  test.each([
    [
      'before the engine was asked',
      `UPDATE runtimes SET state = 'starting', started_at = NULL`,
      true,
      'failed',
      'interrupted',
    ],
    [
      'between the engine and the row',
      `UPDATE runtimes SET state = 'starting', started_at = NULL`,
      false,
      'failed',
      'interrupted',
    ],
    [
      'before the engine removed it',
      `UPDATE runtimes SET state = 'terminating', updated_at = 0`,
      false,
      'terminated',
      undefined,
    ],
    [
      'after the engine removed it',
      `UPDATE runtimes SET state = 'terminating', updated_at = 0`,
      true,
      'terminated',
      undefined,
    ],
    [
      'and the row had ended',
      `UPDATE runtimes SET state = 'terminated', ended_at = updated_at`,
      false,
      'terminated',
      undefined,
    ],
    ['and the host has lost it', 'SELECT 1', true, 'failed', 'lost'],
  ])('a crash %s leaves nothing unfinished', async (_when, sql, removed, state, reason) => {
    const first = await startTestServer()
    const id = await first.makeRuntime()
    await first.server.close()
    if (removed) await first.engine.remove(id, AbortSignal.timeout(1000))
    await tamper(first.stateDir, sql)
    const second = await startTestServer({ engine: first.engine }, first.stateDir)
    await expect.poll(async () => (await second.ask('GET', `${path}/${id}`)).json.state).toBe(state)
    expect((await second.ask('GET', `${path}/${id}`)).json.state_reason?.code).toBe(reason)
    await expect.poll(() => first.engine.inspect(id)).toBeNull()
  })

  test('a runtime that ended meanwhile is failed, with the reason', async () => {
    const first = await startTestServer()
    const id = await first.makeRuntime()
    await first.server.close()
    first.engine.end(id, { reason: 'host_restarted', message: '' })
    const second = await startTestServer({ engine: first.engine }, first.stateDir)
    expect((await second.ask('GET', `${path}/${id}`)).json.state_reason.code).toBe('host_restarted')
  })

  test('a runtime without a row is reported and kept', async () => {
    const first = await startTestServer()
    const id = await first.makeRuntime()
    await first.server.close()
    await tamper(first.stateDir, 'DELETE FROM runtimes')
    const second = await startTestServer({ engine: first.engine }, first.stateDir)
    expect(await first.engine.inspect(id)).not.toBeNull()
    expect(second.logged.map(({ message }) => message).join()).toContain('is not in the database')
  })

  test('one unreadable record does not stop the start or the others', async () => {
    let bad = ''
    const engine = new FakeEngine({
      before: (verb, id) => {
        if (verb === 'remove' && id === bad) throw new EngineError('failed', 'it resists')
      },
    })
    const first = await startTestServer({ engine })
    bad = await first.makeRuntime()
    const good = await first.makeRuntime()
    await first.server.close()
    await tamper(first.stateDir, `UPDATE runtimes SET state = 'starting'`)
    const second = await startTestServer({ engine }, first.stateDir)
    expect((await second.ask('GET', `${path}/${good}`)).json.state).toBe('failed')
    expect(await engine.inspect(good)).toBeNull()
    await second.makeRuntime()
  })
})

test('a runtime that the engine loses while the service runs is failed', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const [dropped, crashed] = [await makeRuntime(), await makeRuntime()]
  await engine.remove(dropped, AbortSignal.timeout(1000))
  engine.end(crashed, { reason: 'crashed', message: '' })
  await expect.poll(async () => (await ask('GET', `${path}/${dropped}`)).json.state_reason?.code).toBe('lost')
  await expect.poll(async () => (await ask('GET', `${path}/${crashed}`)).json.state_reason?.code).toBe('crashed')
  await expect.poll(() => engine.inspect(crashed)).toBeNull()
})

test('every change of state is an event', async () => {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  await server.ask('DELETE', `${path}/${id}`)
  await server.server.close()
  const types = await storedRows(server.stateDir, `SELECT type FROM events WHERE subject_id = '${id}' ORDER BY seq`)
  expect(types.map(({ type }) => type)).toEqual([
    'runtime.starting',
    'runtime.running',
    'runtime.terminating',
    'runtime.terminated',
  ])
})

test('ended rows are removed after seven days', async () => {
  let now = Date.now()
  const first = await startTestServer({ now: () => now })
  const [over, live] = [await first.makeRuntime(), await first.makeRuntime()]
  await first.ask('DELETE', `${path}/${over}`)
  now += 7 * 24 * 3600 * 1000 + 1
  const second = await first.restart()
  await expect.poll(async () => (await second.ask('GET', `${path}/${over}`)).status).toBe(404)
  expect((await second.ask('GET', `${path}/${live}`)).status).toBe(200)
})

test('a freeze or thaw of a runtime does not trigger a reconcile', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const [id, sentinel] = [await makeRuntime(), await makeRuntime()]
  const stateOf = async (which: string) => (await ask('GET', `${path}/${which}`)).json.state
  const ended = async (which: string) => {
    engine.end(which, { reason: 'crashed', message: '' })
    await expect.poll(() => stateOf(which)).toBe('failed')
  }
  const inspect = vi.spyOn(engine, 'inspect')
  await engine.ability('freezer')?.freeze(id)
  await engine.ability('freezer')?.thaw(id)
  await ended(sentinel)
  expect(inspect.mock.calls.map(([which]) => which)).not.toContain(id)
  await ended(id)
})
