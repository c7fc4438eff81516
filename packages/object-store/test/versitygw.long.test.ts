import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'
import { describe, expect, test, vi } from 'vitest'
import { openObjectStore } from '../src/index.ts'
import { storeConformance, testPartBytes } from './support/store-conformance.ts'

const env = { AWS_ACCESS_KEY_ID: 'holt', AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests' }
const lack = isThere() ? '' : ' [skipped: versitygw is not built, see scripts/lib/versitygw.sh]'

describe.skipIf(lack !== '')(`a real S3${lack}`, () => {
  storeConformance('versitygw', async () => {
    const gateway = await startGateway()
    return { store: gateway.open(env), [Symbol.asyncDispose]: gateway.stop }
  })

  test('refuses another secret key', async () => {
    const gateway = await startGateway()
    try {
      const stranger = gateway.open({ ...env, AWS_SECRET_ACCESS_KEY: 'another-secret' })
      await expect(stranger.put('a', Buffer.alloc(1))).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('SignatureDoesNotMatch'),
      })
    } finally {
      await gateway.stop()
    }
  })

  test('finishes a write and a read while the service starts again', async () => {
    const gateway = await startGateway()
    try {
      const store = gateway.open(env)
      const bytes = Buffer.alloc(4 * testPartBytes, 'abc')
      await store.put('before', bytes)
      const { body } = await store.get('before')
      let read = 0
      for await (const piece of body) {
        if (read === 0) await gateway.restart()
        read += piece.length
      }
      expect(read).toBe(bytes.length)
      const writing = store.put('during', bytes)
      await gateway.restart()
      await writing
      expect(await store.head('during')).toMatchObject({ sizeBytes: bytes.length })
    } finally {
      await gateway.stop()
    }
  })
})

function isThere(): boolean {
  try {
    execFileSync('versitygw', ['--version'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false // Not built: the title says so.
  }
}

/** Starts versitygw over a directory with one bucket. */
async function startGateway() {
  const directory = await mkdtemp(join(tmpdir(), 'holt-versitygw-'))
  await mkdir(join(directory, 'holt-tests'))
  const port = await freePort()
  let process = await start(directory, port)
  return {
    open: (credentials: Readonly<Record<string, string>>) =>
      openObjectStore(`s3://holt-tests/fleet?endpoint=http://127.0.0.1:${port}&region=us-east-1`, {
        env: credentials,
        partBytes: testPartBytes,
      }),
    restart: async () => {
      await end(process)
      process = await start(directory, port)
    },
    stop: async () => {
      await end(process)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function start(directory: string, port: number): Promise<ChildProcess> {
  const args = ['--port', `127.0.0.1:${port}`, '--region', 'us-east-1', '--quiet', 'posix', directory]
  const secrets = { ROOT_ACCESS_KEY: env.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: env.AWS_SECRET_ACCESS_KEY }
  const child = spawn('versitygw', args, { env: { ...process.env, ...secrets }, cwd: directory, stdio: 'ignore' })
  const answers = () => fetch(`http://127.0.0.1:${port}/`).then(Boolean, () => false)
  await vi.waitUntil(answers, { timeout: 20_000, interval: 50 })
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
