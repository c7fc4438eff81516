import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startCluster } from '../../packages/server/test/support/postgres-cluster.ts'

/** A host of the fleet, as its clients reach it. */
export interface FakeHost {
  readonly url: string
  readonly port: number
  readonly key: string
}

const mainFile = join(import.meta.dirname, 'fleet-host-main.ts')

/**
 * Starts hosts with fake engines over one PostgreSQL, each in a process of its own. The database
 * syncs its commits, as a user's does.
 */
export async function startFleetOfFakes(
  size: number,
): Promise<AsyncDisposable & { readonly hosts: readonly FakeHost[] }> {
  await using undo = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'holt-bench-fleet-'))
  undo.defer(() => rm(dir, { recursive: true, force: true }))
  await mkdir(join(dir, 'objects'))
  const cluster = undo.use(await startCluster({ durable: true }))
  await cluster.run('CREATE DATABASE holt')
  const hosts: FakeHost[] = []
  const first = join(dir, 'host-1')
  while (hosts.length < size) {
    const stateDir = join(dir, `host-${hosts.length + 1}`)
    await mkdir(stateDir, { mode: 0o700 })
    if (stateDir !== first) await copyFile(join(first, 'master-keys.json'), join(stateDir, 'master-keys.json'))
    const child = spawn(process.execPath, [mainFile, stateDir, cluster.url('holt')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    undo.defer(() => end(child))
    hosts.push(await hostOf(child))
  }
  const parts = undo.move()
  return { hosts, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function hostOf(child: ChildProcess): Promise<FakeHost> {
  if (child.stdout === null) throw new Error('a host without an output')
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`a host of the fleet has ended with ${code}`)
  })
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), failed])) as [string]
  const { url, key } = JSON.parse(line) as { url: string; key: string }
  return { url, key, port: Number(new URL(url).port) }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
