import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { explainedStart } from '../../src/daemon/serve.ts'

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

const script = `const server = require('node:net').createServer().listen({ host: process.argv.at(-1), port: 0 }, () =>
  process.stdout.write(String(server.address().port)))`

/** Starts a process that listens on a free port, under some name. */
async function listener({ host = '127.0.0.1', argv0 = 'node', args = [] as string[], env = {} } = {}) {
  const child = spawn(process.execPath, ['-e', script, '--', ...args, host], { argv0, env: { ...process.env, ...env } })
  children.push(child)
  const [port] = await once(child.stdout, 'data')
  return { pid: child.pid, port: Number(port) }
}

/** Returns what a start that fails on a port says. */
async function failedStart(port: number): Promise<string> {
  const server = createServer().listen({ host: '127.0.0.1', port })
  const [cause] = await once(server, 'error')
  return ((await explainedStart({ stateDir: '/nowhere', port }, cause)) as Error).message
}

test.each([['127.0.0.1'], ['::']])('names the process that listens on %s, without its arguments', async (host) => {
  const { pid, port } = await listener({ host, argv0: '/opt/other/server', args: ['--password=secret'] })
  expect(await failedStart(port)).toBe(
    `Port ${port} is taken by process ${pid} (server). Choose another: HOLT_PORT=${port + 1} holt up`,
  )
})

test('names the state directory of another service', async () => {
  const args = ['/usr/lib/holt/bundle/holtd.mjs', 'serve']
  const { pid, port } = await listener({ args, env: { HOLT_STATE_DIR: '/var/lib/\u001b[2Jother' } })
  expect(await failedStart(port)).toContain(
    `taken by process ${pid} (holtd of the state directory /var/lib/?[2Jother).`,
  )
})

test('passes another kind of error through', async () => {
  const cause = Object.assign(new Error('connect EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'connect' })
  expect(await explainedStart({ stateDir: '/nowhere', port: 4658 }, cause)).toBe(cause)
})
