import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseConfig } from '../../src/index.ts'
import { startHost, type TestHost } from '../support/fleet.ts'
import { openTestStore } from '../support/test-store.ts'

const configuration = fileURLToPath(new URL('../../../../deploy/haproxy.cfg', import.meta.url))

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0

/** The address from which the proxy of a test connects to hosts. */
const proxyAddress = '127.0.0.2'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts HAProxy with the file of `deploy`, before these hosts and without TLS. */
async function startProxy(hosts: readonly TestHost[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-haproxy-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const port = await freePort()
  const given = await readFile(configuration, 'utf8')
  const servers = hosts.map(
    ({ server }, at) => `  server s${at} ${new URL(server.server.url).host} source ${proxyAddress}`,
  )
  const text = given
    .replace(/^ {2}bind .*$/m, `  bind 127.0.0.1:${port}`)
    .replace(/(?:^ {2}server .*\n)+/m, `${servers.join('\n')}\n`)
  const file = join(dir, 'haproxy.cfg')
  await writeFile(file, text)
  expect(spawnSync('haproxy', ['-c', '-f', file]).status).toBe(0)
  const proxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  onTestFinished(() => end(proxy))
  const url = `http://127.0.0.1:${port}`
  await vi.waitUntil(
    () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    {
      timeout: 20_000,
      interval: 100,
    },
  )
  return url
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

describe.skipIf(!hasHaproxy)('hosts behind HAProxy', () => {
  test('requests reach hosts that are ready, with the address of their client', { timeout: 120_000 }, async () => {
    const store = await openTestStore()
    onTestFinished(() => store.close())
    const config = parseConfig({ HOLT_PORT: '0', HOLT_POOL_MAX: '0', HOLT_TRUSTED_PROXIES: `${proxyAddress}/32` })
    const [one, two] = [await startHost(store, { config }), await startHost(store, { config })]
    const url = await startProxy([one, two])
    const ask = async (method: string, path: string, body?: object) => {
      const headers = {
        authorization: `Bearer ${one.server.server.adminKey}`,
        'x-forwarded-for': '203.0.113.1',
        'holt-caller': 'forged',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await fetch(`${url}${path}`, init)
      return { status: response.status, json: JSON.parse((await response.text()) || 'null') }
    }
    const created = await ask('POST', '/v1/agents/runtime', {})
    expect(created.status).toBe(201)
    for (let count = 0; count < 10; count += 1) {
      const id = created.json.runtime_id
      expect((await ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('running')
    }
    const entries = async () => (await ask('GET', '/v1/agents/audit')).json.data
    await vi.waitUntil(async () => (await entries()).length > 0, { timeout: 20_000 })
    expect((await entries())[0]).toMatchObject({ address: '127.0.0.1' })

    // A host that stops in order loses no request.
    const stopped = one.server.server.close()
    for (let count = 0; count < 40; count += 1) expect((await ask('GET', '/v1/agents/runtime')).status).toBe(200)
    await stopped
    for (let count = 0; count < 20; count += 1) expect((await ask('GET', '/v1/agents/runtime')).status).toBe(200)
  })
})
