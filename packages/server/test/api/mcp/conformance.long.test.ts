import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const run = promisify(execFile)
const project = join(import.meta.dirname, 'conformance')
/** The suite has a hundred packages, and only this test needs them. */
const installed = join(import.meta.dirname, '../../../../../.holt/mcp-conformance')
const suite = join(installed, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** The scenarios for any server. The others call tools and resources of the suite's own example. */
const scenarios = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection']

beforeAll(async () => {
  await mkdir(installed, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) await copyFile(join(project, file), join(installed, file))
  await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: installed })
}, 300_000)

/** Starts a proxy that adds a key to each request: the suite has none. */
async function startProxy(url: string, key: string): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` }
    const passed = request(new URL(incoming.url ?? '/', url), { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
}

test.each(scenarios)('passes the scenario %s of the conformance suite', async (scenario) => {
  const { server } = await startTestServer()
  const url = await startProxy(server.url, server.adminKey)
  const results = await mkdtemp(join(tmpdir(), 'holt-conformance-'))
  onTestFinished(() => rm(results, { recursive: true }))
  const args = [suite, 'server', '--url', url, '--scenario', scenario, '--output-dir', results]
  const { stdout } = await run(process.execPath, args, { cwd: results })
  expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1\b/)
})
