import { EngineError } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'
import { steeredEngine } from '../../support/steered-engine.ts'

const path = '/v1/agents/runtime'

async function checkpointsOf(engine: FakeEngine): Promise<number> {
  return (await engine.ability('checkpoints')?.list())?.length ?? 0
}

describe('a runtime that is paused', () => {
  test('leaves nothing on the host, and continues where it stopped', async () => {
    const { ask, makeRuntime, engine } = await startTestServer()
    const before = await checkpointsOf(engine)
    const id = await makeRuntime({ timeout_secs: 600 })
    await ask('PUT', `${path}/${id}/files/content?path=/workspace/kept`, { body: 'kept' })
    const { command_id } = (
      await ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true, background: true } })
    ).json
    await ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'before\n' } })
    const paused = await ask('POST', `${path}/${id}/pause`)
    expect(paused.json).toMatchObject({ state: 'paused', expires_at: null, state_reason: { code: 'requested' } })
    expect(paused.json.paused_at).not.toBeNull()
    expect(await engine.inspect(id)).toBeNull()
    expect((await ask('POST', `${path}/${id}/pause`)).json).toEqual(paused.json)
    const resumed = await ask('POST', `${path}/${id}/resume`)
    expect(resumed.json).toMatchObject({ state: 'running', paused_at: null, state_reason: null, runtime_id: id })
    expect(resumed.json.started_at).toBe(paused.json.started_at)
    expect(Date.parse(resumed.json.expires_at)).toBeGreaterThan(Date.now() + 500_000)
    expect((await ask('POST', `${path}/${id}/resume`)).json).toEqual(resumed.json)
    expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/kept`)).text).toBe('kept')
    await ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'after\n', eof: true } })
    const { text } = await ask('GET', `${path}/${id}/commands/${command_id}/output?follow=true`)
    expect(text).toContain('before')
    expect(text).toContain('after')
    await expect.poll(() => checkpointsOf(engine)).toBe(before)
  })

  test('is resumed by a request into it, once for many, and not by other requests', async () => {
    const { engine, counts } = steeredEngine()
    const { ask, makeRuntime } = await startTestServer({ engine })
    const id = await makeRuntime()
    await ask('POST', `${path}/${id}/pause`)
    const ensured = counts.ensure ?? 0
    await ask('GET', `${path}/${id}`)
    await ask('GET', path)
    await ask('GET', `${path}/${id}/network`)
    const { json } = await ask('PATCH', `${path}/${id}`, { json: { timeout_secs: 50, metadata: { a: 'b' } } })
    expect(json).toMatchObject({ state: 'paused', timeout_secs: 50, expires_at: null, metadata: { a: 'b' } })
    expect(counts.ensure).toBe(ensured)
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ask('POST', `${path}/${id}/commands`, { json: { command: 'echo awake' } })),
    )
    expect(answers.map((answer) => answer.json.stdout)).toEqual(Array(5).fill('awake\n'))
    expect(counts.ensure).toBe(ensured + 1)
    const { state, expires_at } = (await ask('GET', `${path}/${id}`)).json
    expect(state).toBe('running')
    expect(Date.parse(expires_at)).toBeLessThan(Date.now() + 50_000)
  })

  test('stays paused without auto_resume until it is resumed', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime({ auto_resume: false })
    await ask('POST', `${path}/${id}/pause`)
    const refused = await ask('POST', `${path}/${id}/commands`, { json: { command: 'true' } })
    expect([refused.status, refused.json.error.code]).toEqual([409, 'runtime_paused'])
    expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
    expect((await ask('POST', `${path}/${id}/commands`, { json: { command: 'true' } })).status).toBe(200)
  })

  test('twenty times loses nothing', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    const { command_id } = (
      await ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true, background: true } })
    ).json
    const following = ask('GET', `${path}/${id}/commands/${command_id}/output?follow=true`)
    for (let round = 0; round < 20; round += 1) {
      await ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: `${round};` } })
      expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
    }
    await ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'end', eof: true } })
    const items = (await following).text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const output = items.map((item) => item.data ?? '').join('')
    expect(output).toBe(`${Array.from({ length: 20 }, (_, round) => `${round};`).join('')}end`)
    expect(items.filter(({ type }) => type === 'exit')).toHaveLength(1)
    expect(items.at(-1).type).toBe('end')
  })

  test('twenty times still has its output stream, even without output', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    const { command_id } = (
      await ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true, background: true } })
    ).json
    const following = ask('GET', `${path}/${id}/commands/${command_id}/output?follow=true`)
    for (let round = 0; round < 20; round += 1) {
      await ask('POST', `${path}/${id}/pause`)
      expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
      // The stream is there again before it breaks once more.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await ask('POST', `${path}/${id}/commands/${command_id}/stdin`, { json: { data: 'end', eof: true } })
    const items = (await following).text.split('\n').filter(Boolean)
    expect(items.map((line) => JSON.parse(line).type)).toEqual(expect.arrayContaining(['stdout', 'exit', 'end']))
  })

  test('can be deleted, with its checkpoint', async () => {
    const { ask, makeRuntime, engine } = await startTestServer()
    const before = await checkpointsOf(engine)
    const id = await makeRuntime()
    await ask('POST', `${path}/${id}/pause`)
    expect(await checkpointsOf(engine)).toBe(before + 1)
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(204)
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
    await expect.poll(() => checkpointsOf(engine)).toBe(before)
    expect((await ask('POST', `${path}/${id}/resume`)).status).toBe(410)
  })

  test('has no reserved memory, and is not resumed without room', async () => {
    const { ask, makeRuntime } = await startTestServer({
      engine: new FakeEngine({ facts: { memoryMiB: 2600 } }),
      config: { memoryOvercommit: 1 } as never,
    })
    const id = await makeRuntime()
    await makeRuntime()
    expect((await ask('POST', path, { json: {} })).json.error.code).toBe('capacity_exhausted')
    await ask('POST', `${path}/${id}/pause`)
    const third = await makeRuntime()
    const refused = await ask('POST', `${path}/${id}/resume`)
    expect([refused.status, refused.json.error.code]).toEqual([503, 'capacity_exhausted'])
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('paused')
    await ask('DELETE', `${path}/${third}`)
    expect((await ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  })

  test('has a closed network, and an open one after the resume', async () => {
    const { ask, makeRuntime, gateway } = await startTestServer()
    const id = await makeRuntime({ network_policy: { allow: [{ host: 'api.example.com' }] } })
    expect(gateway.of(id)).not.toBeNull()
    await ask('POST', `${path}/${id}/pause`)
    expect(gateway.of(id)).toBeNull()
    await ask('POST', `${path}/${id}/resume`)
    expect(gateway.of(id)?.hosts).toEqual(['api.example.com'])
  })
})

describe('a runtime that cannot be paused', () => {
  test('says so, and is not paused at its deadline', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime({ isolation: 'container' })
    expect((await ask('GET', `${path}/${id}`)).json).toMatchObject({ timeout_secs: null, on_timeout: 'terminate' })
    expect((await ask('POST', `${path}/${id}/pause`)).json.error.code).toBe('not_supported_here')
    for (const [field, value] of [
      ['on_timeout', 'pause'],
      ['idle_timeout_secs', 60],
    ] as const) {
      const create = await ask('POST', path, { json: { isolation: 'container', [field]: value } })
      expect(create.json.error).toMatchObject({
        code: 'unsupported_setting',
        details: { issues: [{ pointer: `/${field}` }] },
      })
      const change = await ask('PATCH', `${path}/${id}`, { json: { [field]: value } })
      expect(change.json.error.code).toBe('unsupported_setting')
    }
  })

  test('has the value of a secret inside', async () => {
    const { ask, makeRuntime } = await startTestServer()
    await ask('POST', '/v1/agents/secret', { json: { name: 'token', value: 'very-secret', env: true } })
    const id = await makeRuntime({ secrets: ['token'] })
    expect((await ask('GET', `${path}/${id}`)).json).toMatchObject({ timeout_secs: null, secrets_inside: true })
    expect((await ask('POST', `${path}/${id}/pause`)).json.error.code).toBe('conflict')
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
  })
})

describe('a pause that fails', () => {
  test('leaves the runtime running and no checkpoint', async () => {
    const { engine, next } = steeredEngine()
    const { ask, makeRuntime } = await startTestServer({ engine })
    const before = await checkpointsOf(engine)
    const id = await makeRuntime()
    next.take = () => {
      throw new EngineError('no_space', '/secret/path is full')
    }
    const refused = await ask('POST', `${path}/${id}/pause`)
    expect([refused.status, refused.json.error.code]).toEqual([507, 'disk_full'])
    expect(refused.text).not.toContain('/secret')
    expect((await ask('GET', `${path}/${id}`)).json).toMatchObject({ state: 'running', state_reason: null })
    expect((await ask('POST', `${path}/${id}/commands`, { json: { command: 'echo on' } })).json.stdout).toBe('on\n')
    await expect.poll(() => checkpointsOf(engine)).toBe(before)
    expect((await ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
  })

  test('is cancelled by a delete', async () => {
    const { engine, hold } = steeredEngine()
    const { ask, makeRuntime } = await startTestServer({ engine })
    const id = await makeRuntime()
    const { reached, release } = hold('take')
    const pausing = ask('POST', `${path}/${id}/pause`)
    await reached
    const deleting = ask('DELETE', `${path}/${id}`)
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toBe('terminating')
    release()
    expect((await deleting).status).toBe(204)
    expect((await pausing).status).toBe(410)
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
    expect(await engine.inspect(id)).toBeNull()
  })
})

describe('during a checkpoint', () => {
  test('requests wait, and resume the runtime after its pause', async () => {
    const { engine, hold } = steeredEngine()
    const { ask, makeRuntime } = await startTestServer({ engine })
    const id = await makeRuntime()
    const { reached, release } = hold('take')
    const pausing = ask('POST', `${path}/${id}/pause`)
    await reached
    let answered = false
    const waiting = ask('POST', `${path}/${id}/commands`, { json: { command: 'echo later' } }).finally(() => {
      answered = true
    })
    const joined = ask('POST', `${path}/${id}/pause`)
    await ask('GET', `${path}/${id}`)
    expect(answered).toBe(false)
    release()
    expect((await pausing).json.state).toBe('paused')
    expect((await joined).json.state).toBe('paused')
    expect((await waiting).json.stdout).toBe('later\n')
    expect((await ask('GET', `${path}/${id}`)).json.state).toBe('running')
  })

  test('a request in progress is answered first', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    let finish = () => {}
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('whole'))
        finish = () => controller.close()
      },
    })
    const writing = ask('PUT', `${path}/${id}/files/content?path=/workspace/part`, { body })
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).status).toBe(200)
    const pausing = ask('POST', `${path}/${id}/pause`)
    await expect.poll(async () => (await ask('GET', `${path}/${id}`)).json.state).toBe('pausing')
    finish()
    expect((await writing).status).toBe(201)
    expect((await pausing).json.state).toBe('paused')
    expect((await ask('GET', `${path}/${id}/files/content?path=/workspace/part`)).text).toBe('whole')
  })

  test('a waited-for command continues afterwards, with its remaining time', async () => {
    const { ask, makeRuntime } = await startTestServer()
    const id = await makeRuntime()
    const waiting = ask('POST', `${path}/${id}/commands`, { json: { command: 'cat', stdin: true } })
    const find = async () => (await ask('GET', `${path}/${id}/commands`)).json.data[0]?.command_id
    await expect.poll(find).toBeDefined()
    const commandId = await find()
    await ask('POST', `${path}/${id}/commands/${commandId}/stdin`, { json: { data: 'one ' } })
    await ask('POST', `${path}/${id}/pause`)
    await ask('POST', `${path}/${id}/commands/${commandId}/stdin`, { json: { data: 'two', eof: true } })
    expect((await waiting).json).toMatchObject({ exit_code: 0, stdout: 'one two', dropped_bytes: 0 })
  })

  test('a watch misses nothing', async () => {
    const { ask, makeRuntime, server } = await startTestServer()
    const id = await makeRuntime()
    const leaving = new AbortController()
    const { body } = await fetch(`${server.url}${path}/${id}/files/watch?path=/workspace&recursive=true`, {
      headers: { authorization: `Bearer ${server.adminKey}` },
      signal: leaving.signal,
    })
    let seen = ''
    const watching = (async () => {
      for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) seen += chunk
    })()
    const paths = () => [...seen.matchAll(/"path":"([^"]+)"/g)].map((match) => match[1])
    await expect.poll(() => seen).toContain('start')
    for (const name of ['a', 'b', 'c']) {
      await ask('PUT', `${path}/${id}/files/content?path=/workspace/${name}`, { body: name })
      await ask('POST', `${path}/${id}/pause`)
      await ask('POST', `${path}/${id}/resume`)
    }
    await expect.poll(paths).toEqual(['/workspace/a', '/workspace/b', '/workspace/c'])
    leaving.abort()
    await expect(watching).rejects.toThrow()
  })
})
