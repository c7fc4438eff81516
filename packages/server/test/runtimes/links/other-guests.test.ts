import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, test } from 'vitest'
import { changeAnswers } from '../../support/changed-answers.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

test('a runtime with an older guest gets no checkpoint and continues', async () => {
  const quiesced: string[] = []
  const { ask, makeRuntime, engine } = await startTestServer()
  const id = await makeRuntime()
  const guest = engine.guest(id)
  changeAnswers(guest, '/v1/info', (info) => ({ ...info, foreground: undefined }))
  changeAnswers(guest, '/v1/quiesce?force=1', (answer) => {
    quiesced.push(id)
    return answer
  })
  const checkpoints = async () => (await engine.ability('checkpoints')?.list())?.length
  const before = await checkpoints()
  for (const [verb, url, json] of [
    ['pause', `${path}/${id}/pause`, {}],
    ['fork', `${path}/${id}/fork`, {}],
    ['snapshot', `${path}/${id}/snapshot`, { kind: 'memory' }],
  ] as const) {
    const { status, json: answer } = await ask('POST', url, { json })
    expect([verb, status, answer.error?.code]).toEqual([verb, 409, 'conflict'])
    expect(answer.error.message).toContain('an earlier version of Holt')
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
  }
  expect(quiesced).toEqual([])
  expect(await checkpoints()).toBe(before)
  const { json: echoed } = await ask('POST', `${path}/${id}/commands`, { json: { command: 'echo on' } })
  expect(echoed.stdout).toBe('on\n')
})

test('a runtime whose guest keeps no record of so many files is not forked or saved with one', async () => {
  const { ask, makeRuntime, engine } = await startTestServer()
  const id = await makeRuntime()
  changeAnswers(engine.guest(id), /^\/v1\/listing\/baselines\//, () => ({ kept: false }))
  const checkpoints = async () => (await engine.ability('checkpoints')?.list())?.length
  const before = await checkpoints()
  for (const verb of ['fork', 'snapshot']) {
    const { status, json } = await ask('POST', `${path}/${id}/${verb}`, { json: { record_files: true } })
    expect([status, json.error]).toMatchObject([413, { hint: expect.stringContaining('record_files') }])
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
  }
  expect(await checkpoints()).toBe(before)
  expect((await ask('POST', `${path}/${id}/fork`, { json: {} })).json.data[0].error).toBeNull()
})

/** A server whose guests answer every later bind like that. */
async function serverWhoseChildrenSay(bound: object) {
  let spoils = false
  const engine: FakeEngine = new FakeEngine({
    before: (verb, id) => {
      if (verb === 'dial' && spoils) changeAnswers(engine.guest(id), '/v1/bind', (answer) => ({ ...answer, ...bound }))
    },
  })
  const server = await startTestServer({ engine })
  const id = await server.makeRuntime()
  spoils = true
  return { ...server, id }
}

const problems = ['clock: no', '/etc/machine-id: is a directory']

test('a child that can share keys or random numbers with its parent does not run', async () => {
  const { ask, id, engine } = await serverWhoseChildrenSay({ distinct: false, problems })
  const { json } = await ask('POST', `${path}/${id}/fork`, { json: {} })
  const [child] = json.data ?? []
  expect(child?.error ?? json.error).toMatchObject({ code: 'not_supported_here' })
  expect(JSON.stringify(json)).toContain('/etc/machine-id: is a directory')
  const listed = (await ask('GET', path)).json.data
  expect(listed).toHaveLength(2)
  for (const { runtime_id, state } of listed) {
    expect(state).toBe(runtime_id === id ? 'running' : 'failed')
    if (runtime_id !== id) expect(await engine.inspect(runtime_id)).toBeNull()
  }
})

test('other settings that a guest did not apply are logged, and the child runs', async () => {
  const { ask, id, logged } = await serverWhoseChildrenSay({ distinct: true, problems })
  const { json } = await ask('POST', `${path}/${id}/fork`, { json: {} })
  expect(json.data[0].runtime.state).toBe('running')
  expect(logged.map(({ facts }) => facts)).toContainEqual(
    expect.objectContaining({ problems: ['/etc/machine-id: is a directory'] }),
  )
})
