import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { service } from './support/facts.ts'
import { nodeBinary, repository } from './support/service-process.ts'

/** Much longer than any of them takes. */
const timeoutMs = 120_000
/** A build boots runtimes and takes checkpoints. */
const templateTimeoutMs = 300_000

/** Runs an example as its first lines say. */
async function run(name: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(nodeBinary(), [join(repository, 'examples', name), ...args], {
    env: { PATH: process.env.PATH, HOLT_URL: service.url, HOLT_API_KEY: service.key },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: templateTimeoutMs,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    stdout += part
  })
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    stderr += part
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  expect(code, stdout + stderr).toBe(0)
  return stdout
}

it('files change, a shell runs, and a served page can be read', { timeout: timeoutMs }, async () => {
  const output = await run('fix-and-serve.ts')
  expect(output).toContain('mended in 1 place')
  expect(output).toContain('found in /workspace/site')
  expect(output).toContain('served: <h1>Hello</h1>')
})

it('a WebSocket inside is opened by its address, and with its token in a header', { timeout: timeoutMs }, async () => {
  const output = await run('websocket/open.ts')
  expect(output).toContain('came back: by the address')
  expect(output).toContain('came back: by the header')
})

it('a terminal has a size, an answer and an exit code', { timeout: timeoutMs }, async () => {
  const output = await run('terminal.ts')
  expect(output).toContain('43 132')
  expect(output).toContain('42')
  expect(output).toContain('ended with 3')
})

it('one host is reached, another is not, and the key stays outside', { timeout: timeoutMs }, async () => {
  const output = await run('reach-one-host.ts', 'api.example.com')
  expect(output).toContain('inside the key is a placeholder')
  expect(output).toContain('the host answers 200')
  expect(output).toContain('another one cannot be reached')
  expect(output).toContain('it would need other.example.com 443')
})

it('a template has its application running at the first request', { timeout: templateTimeoutMs }, async () => {
  expect(await run('template.ts')).toContain('the first request: visitor')
})

it('a fork tries three fixes at once, and keeps one', { timeout: templateTimeoutMs }, async () => {
  const output = await run('fork.ts')
  expect(output).toContain('fix 3: passes (its process is running)')
  expect(output).toContain('fix 1: AssertionError')
  expect(output).toMatch(/kept: sn\w{20}/)
})
