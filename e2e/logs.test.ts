import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NewKey, Port, Secret } from '@holt/protocol'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, runtimesPath, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { createRuntime } from './support/test-runtime.ts'

// The log of a daemon that says everything it can, with all that is secret put wherever a client
// may put it.

const logFile = join(service.stateDir, 'holtd.log')

describeClasses('the log', (isolation) => {
  let begin = 0
  beforeAll(async () => {
    await restartWith({ HOLT_LOG_LEVEL: 'trace' })
    begin = readFileSync(logFile).length
  })
  afterAll(() => restartWith({}))

  it('contains no secret and no text that clients run and write, in success and failure', async () => {
    const word = `e2e-word-${crypto.randomUUID()}`
    const secret = { name: `of-logs-${isolation}`, value: `${word}-value`, hosts: ['index.example'] }
    success(await call('POST', '/v1/agents/secret', { json: secret }), 201, Secret)
    const made = await call('POST', '/v1/agents/key', { json: { name: 'of logs', scopes: ['runtime:read'] } })
    const { key, key_id } = success(made, 201, NewKey)
    await using runtime = await createRuntime({
      isolation,
      env: { TOKEN: `${word}-env` },
      secrets: [secret.name],
      network_policy: { allow: [{ host: 'index.example' }] },
    })
    const command = { command: `echo ${word}-command >&2; false`, env: { A: `${word}-env` }, stdin: `${word}-stdin` }
    await runtime.call('POST', '/commands', { json: command })
    await runtime.call('POST', '/commands', { json: { ...command, user: `${word}-user` } })
    await runtime.call('PUT', '/files/content', { query: { path: `/tmp/${word}-path` }, body: `${word}-content` })
    await runtime.call('GET', '/files/content', { query: { path: `/${word}-no-path` } })
    await runtime.call('POST', '/snapshot', { json: { name: 'of-logs' } })
    const { token } = success(await runtime.call('GET', '/ports/3000'), 200, Port)
    await runtime.call('GET', `/ports/3000/proxy/${word}-page`, { key: null, query: { holt_token: token } })
    await call('POST', runtimesPath, { key, json: { env: { B: `${word}-refused` } } })
    await call('POST', runtimesPath, { body: `{"env": ${word}`, headers: { 'content-type': 'application/json' } })
    await call('GET', runtimesPath, { key: `holt_${word}`, query: { name: `${word}-query` } })
    await call('GET', `/${word}-no-route`, { headers: { cookie: `a=${word}-cookie` } })
    // The log also names things that are found again after a crash.
    await crash()
    await restart({ HOLT_LOG_LEVEL: 'trace' })
    await call('DELETE', `/v1/agents/key/${key_id}`)
    await call('DELETE', '/v1/agents/snapshot/of-logs')
    await call('DELETE', `/v1/agents/secret/${secret.name}`)
    const log = readFileSync(logFile).subarray(begin).toString()
    expect(log).toContain('"route":"/v1/agents/runtime/{runtime_id}/commands"')
    const quoting = log
      .split('\n')
      .filter((line) => [word, key, service.key, token].some((text) => line.includes(text)))
    expect(quoting).toEqual([])
  })
})
