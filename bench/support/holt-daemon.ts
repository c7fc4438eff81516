import { spawn } from 'node:child_process'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runtimeStates } from '@holt/protocol'
import { Holt } from '@holt/sdk'
import { freePort } from '@holt/testkit'
import { runProgram } from './run-program.ts'

/** A daemon that the bench has started. */
export interface HoltDaemon extends AsyncDisposable {
  readonly pid: number
  readonly port: number
  readonly key: string
  readonly holt: Holt
  readonly stateDir: string
  /** The installation's id, which is part of the names of its kernel objects. */
  readonly installation: string
  /** Returns the daemon's Prometheus metrics. */
  readonly metrics: () => Promise<string>
}

/** The options of a daemon. */
export interface DaemonOptions {
  readonly repo: string
  readonly stateDir: string
  /** The settings in addition to those of every bench. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

/**
 * The timeout of a start. The first start makes the base template from distribution packages, over
 * the network.
 */
const readyTimeoutMs = 20 * 60_000
const pollMs = 250
/** The timeout of a stop. A daemon does not stop its runtimes when it ends, so it ends quickly. */
const stopTimeoutMs = 10_000
/** The timeout of a request. A copy of a large tree in gVisor takes minutes. */
const requestTimeoutMs = 15 * 60_000
/** The timeout of a purge, which removes all runtimes of the pools. */
const purgeTimeoutMs = 5 * 60_000
const templates = ['base-small', 'base-medium']
const liveStates = runtimeStates.filter((state) => state !== 'terminated' && state !== 'failed')

/**
 * Starts a daemon on a free port and waits until its templates are ready. Removes runtimes of an
 * earlier bench. Disposal removes every runtime and ends the daemon.
 */
export async function startDaemon(options: DaemonOptions): Promise<HoltDaemon> {
  const { stateDir, signal } = options
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const port = await freePort()
  const child = await spawnDaemon(options, port)
  try {
    const { url, key } = await waitFor(() => readCredentials(stateDir, port), { what: 'credentials', child, signal })
    // A retry would hide a failed request.
    const holt = new Holt({ url, apiKey: key, maxRetries: 0, timeoutSecs: requestTimeoutMs / 1000 })
    await waitForTemplates(holt, child, options)
    await removeRuntimes(holt)
    const installation = (JSON.parse(await readFile(join(stateDir, 'installation.json'), 'utf8')) as { id: string }).id
    const dispose = async () => {
      await removeRuntimes(holt).finally(() => endDaemon(child))
      await purge(options)
    }
    const metrics = async () => {
      const answer = await fetch(new URL('/metrics', url), { headers: { authorization: `Bearer ${key}` }, signal })
      if (!answer.ok) throw new Error(`the daemon tells no metrics: ${answer.status}`)
      return answer.text()
    }
    return { pid: child.pid, port, key, holt, stateDir, installation, metrics, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await endDaemon(child)
    throw error
  }
}

interface Child {
  readonly pid: number
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<void>
  readonly hasEnded: () => boolean
  readonly log: string
}

async function spawnDaemon({ repo, stateDir, environment }: DaemonOptions, port: number): Promise<Child> {
  const log = join(stateDir, 'holtd.log')
  const file = await open(log, 'a', 0o600)
  try {
    const { HOLT_RUN_DIR: _, ...inherited } = process.env
    const env = {
      ...inherited,
      HOLT_ISOLATION: 'gvisor',
      ...environment,
      HOLT_STATE_DIR: stateDir,
      HOLT_PORT: String(port),
      HOLT_HOST: '127.0.0.1',
      NODE_ENV: 'production',
    }
    const main = join(repo, 'packages/server/src/main.ts')
    const child = spawn(process.execPath, ['--max-semi-space-size=8', main, 'serve'], {
      cwd: '/',
      env,
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
    })
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    child.on('exit', () => resolve())
    child.on('error', () => resolve())
    if (child.pid === undefined) throw new Error(`cannot start ${process.execPath}`)
    return {
      pid: child.pid,
      kill: (name) => child.kill(name),
      ended,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      log,
    }
  } finally {
    await file.close()
  }
}

async function endDaemon(child: Child): Promise<void> {
  if (child.hasEnded()) return
  child.kill('SIGTERM')
  await Promise.race([child.ended, sleep(stopTimeoutMs, undefined, { ref: false })])
  if (!child.hasEnded()) child.kill('SIGKILL')
  await child.ended
}

/** Removes the runtimes of the pools, which a daemon leaves for the next one. */
async function purge({ repo, stateDir }: DaemonOptions): Promise<void> {
  await runProgram([process.execPath, join(repo, 'packages/server/src/main.ts'), 'purge'], {
    timeoutMs: purgeTimeoutMs,
    environment: { HOLT_STATE_DIR: stateDir },
  })
}

async function removeRuntimes(holt: Holt): Promise<void> {
  for (const state of liveStates) {
    for await (const runtime of holt.runtimes.list({ state, limit: 100 })) await runtime.delete()
  }
}

async function waitForTemplates(holt: Holt, child: Child, { signal, say }: DaemonOptions): Promise<void> {
  let said = ''
  for (const name of templates) {
    await waitFor(
      async () => {
        const template = await holt.templates.get(name, { signal }).catch(() => null) // It may not answer yet; the wait has a timeout.
        if (template?.state === 'failed')
          throw new Error(`${name} failed: ${template.state_reason?.message ?? 'see its log'}`)
        const line = progressOf(template?.progress ?? null)
        if (line !== said && line !== '') say(`${name}: ${line}`)
        said = line
        return template?.state === 'ready' ? template : null
      },
      { what: `template ${name}`, child, signal },
    )
  }
  await waitFor(async () => ((await holt.ready({ signal })).status === 'ready' ? true : null), {
    what: 'readiness',
    child,
    signal,
  })
}

async function waitFor<Value>(
  ask: () => Promise<Value | null>,
  wait: { what: string; child: Child; signal: AbortSignal },
): Promise<Value> {
  const deadline = performance.now() + readyTimeoutMs
  for (;;) {
    wait.signal.throwIfAborted()
    const value = await ask()
    if (value !== null) return value
    if (wait.child.hasEnded())
      throw new Error(`holtd has ended while the bench waited for its ${wait.what}: see ${wait.child.log}`)
    if (performance.now() > deadline)
      throw new Error(`holtd: no ${wait.what} within ${readyTimeoutMs / 60_000} minutes: see ${wait.child.log}`)
    await sleep(pollMs, undefined, { signal: wait.signal })
  }
}

/** Returns a line about the progress in steps of ten percent, so that a log stays readable. */
function progressOf(progress: { phase: string; done: number; total: number } | null): string {
  if (progress === null) return ''
  return `${progress.phase}, ${10 * Math.floor((10 * progress.done) / Math.max(1, progress.total))} %`
}

/**
 * Returns the credentials of this daemon; null before it has written them. Those of an earlier
 * daemon have another port.
 */
async function readCredentials(stateDir: string, port: number): Promise<{ url: string; key: string } | null> {
  try {
    const text = await readFile(join(stateDir, 'credentials.json'), 'utf8')
    const credentials = JSON.parse(text) as { url: string; key: string }
    return credentials.url.endsWith(`:${port}`) ? credentials : null
  } catch {
    return null // Not written yet.
  }
}
