import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'
import { vi } from 'vitest'

/** The credentials of the gateway, as the environment of its users has them. */
export const gatewayKeys = { AWS_ACCESS_KEY_ID: 'holt', AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests' }

/** A real S3 over a directory, with one bucket. */
export interface Gateway extends AsyncDisposable {
  /** The address of the store below a prefix of the bucket. */
  readonly url: string
  /** The `HOST:PORT` at which it listens. */
  readonly at: string
  /** The directory of its objects, each a file. */
  readonly directory: string
  /** Starts it again after `stop`. */
  start(): Promise<void>
  /** Ends it as a crash would. */
  stop(): Promise<void>
}

/** Returns true if versitygw was built. See scripts/lib/versitygw.sh. */
export function hasGateway(): boolean {
  try {
    execFileSync('versitygw', ['--version'], { stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false // Not built: the titles of tests say so.
  }
}

/** Starts versitygw at an address of this machine. */
export async function startGateway(address = '127.0.0.1'): Promise<Gateway> {
  const directory = await mkdtemp(join(tmpdir(), 'holt-versitygw-'))
  await mkdir(join(directory, 'holt-tests'))
  const at = `${address}:${await freePort()}`
  let running: ChildProcess | null = await start(directory, at)
  const stop = async () => {
    const ending = running
    running = null
    if (ending !== null) await end(ending)
  }
  return {
    url: gatewayUrl(at),
    at,
    directory,
    start: async () => {
      running = await start(directory, at)
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Returns the address of the store, for clients that reach the gateway at `HOST:PORT`. */
export function gatewayUrl(at: string): string {
  return `s3://holt-tests/fleet?endpoint=http://${at}&region=us-east-1`
}

async function start(directory: string, at: string): Promise<ChildProcess> {
  const args = ['--port', at, '--region', 'us-east-1', '--quiet', 'posix', directory]
  const { AWS_ACCESS_KEY_ID: ROOT_ACCESS_KEY, AWS_SECRET_ACCESS_KEY: ROOT_SECRET_KEY } = gatewayKeys
  const env = { ...process.env, ROOT_ACCESS_KEY, ROOT_SECRET_KEY }
  const child = spawn('versitygw', args, { env, cwd: directory, stdio: 'ignore' })
  const answers = () => fetch(`http://${at}/`).then(Boolean, () => false)
  await vi.waitUntil(answers, { timeout: 20_000, interval: 50 })
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
