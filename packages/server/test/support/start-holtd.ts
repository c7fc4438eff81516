import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtGuest, programFile } from '@holt/testkit'
import { findLeaks } from '../../../engine-host/test/support/leak-check.ts'

const main = programFile('holtd')

/** An answer of the real service. */
interface HoltdAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/**
 * The real service over a state directory of its own. At its end every runtime and kernel object of
 * it is removed.
 */
export interface Holtd extends AsyncDisposable {
  readonly pid: number
  ask(method: string, path: string, body?: object): Promise<HoltdAnswer>
  /** Returns its log. */
  log(): string
  /** Ends it and removes what it made; answers what the host still holds of it. */
  leaks(): Promise<readonly string[]>
}

/** Starts the service with these settings, and resolves when it listens. */
export async function startHoltd(settings: Readonly<Record<string, string>>): Promise<Holtd> {
  await using owned = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'holtd-'))
  owned.defer(() => rm(dir, { recursive: true, force: true }))
  const [stateDir, runDir] = [join(dir, 'state'), join(dir, 'run')]
  const env = {
    PATH: process.env.PATH,
    HOLT_STATE_DIR: stateDir,
    HOLT_RUN_DIR: runDir,
    HOLT_PORT: '0',
    HOLT_GUEST: process.env.HOLT_GUEST ?? (await builtGuest()),
    ...settings,
  }
  const words: string[] = []
  const child = spawn(process.execPath, [main, 'serve'], { cwd: '/', env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => words.push(text))
  const log = () => words.join('')
  const end = async () => {
    await stop(child)
    const purge = spawn(process.execPath, [main, 'purge'], {
      cwd: '/',
      // Removing needs no guest.
      env: { ...env, HOLT_GUEST: '/nowhere/holt-guest' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(purge, 'exit')
    if (code !== 0) throw new Error(`holtd purge ended with ${code}`)
  }
  owned.defer(end)
  await listening(child, stateDir, log)
  const { url, key } = JSON.parse(await readFile(join(stateDir, 'credentials.json'), 'utf8'))
  const { id } = JSON.parse(await readFile(join(stateDir, 'installation.json'), 'utf8'))
  const kept = owned.move()
  return {
    pid: child.pid ?? 0,
    log,
    ask: (method, path, body) => ask(`${url}${path}`, key, { method, body }),
    leaks: async () => {
      await end()
      return findLeaks({ stateDir, runDir, cgroupParent: `/holt-${id}` })
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

async function ask(
  url: string,
  key: string,
  { method, body }: { method: string; body: object | undefined },
): Promise<HoltdAnswer> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? null : JSON.parse(text) }
}

async function listening(child: ChildProcess, stateDir: string, log: () => string): Promise<void> {
  const deadline = Date.now() + 30_000
  const credentials = () => {
    try {
      return readFileSync(join(stateDir, 'credentials.json'), 'utf8') !== ''
    } catch {
      return false // Not written yet.
    }
  }
  while (!credentials()) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`holtd does not start:\n${log()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
