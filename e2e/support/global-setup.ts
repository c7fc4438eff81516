import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pageOf, Readiness, Template } from '@holt/protocol'
import { freePort } from '@holt/testkit'
import type { TestProject } from 'vitest/node'
import type { ServiceFacts } from './facts.ts'
import { closeConnections, send } from './http.ts'
import { type Lane, laneCount, laneOf } from './lane.ts'
import { addedTo, listBelongings } from './leaks.ts'
import { removeAll } from './remove-all.ts'
import { reportProgress } from './report-progress.ts'
import { type Rig, startRig } from './rig/start-rig.ts'
import { findService, isRunning, runService, serviceLog, startService, stopService, useRig } from './service-process.ts'
import { until } from './until.ts'

/** The first start of all makes the base template from distribution packages. */
const READY_TIMEOUT_MS = 20 * 60_000

/** A killed process exits in milliseconds, and on a busy machine in seconds. */
const EXIT_TIMEOUT_MS = 15_000

/** Starts the real service of each lane, and stops them at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) throw new Error('FIX: run as root: runtimes need mounts, cgroups and namespaces')
  const lanes = Array.from({ length: laneCount() }, (_, index) => laneOf(index + 1))
  const rigs: Rig[] = []
  const stopRigs = () => eachToItsEnd(rigs, async (rig) => rig[Symbol.asyncDispose]())
  try {
    // One after another, because each takes a network that nobody uses.
    for (const lane of lanes) rigs.push(await prepare(lane))
    await seedLanes(lanes)
    const services = await eachToItsEnd(lanes, startLane).catch(async (error: unknown) => {
      await eachToItsEnd(lanes, (lane) => stopService('SIGTERM', lane))
      throw error
    })
    const facts = rigs.map((rig) => rig.facts)
    project.provide('rigs', facts)
    project.provide('services', services)
    return async () => {
      try {
        await eachToItsEnd(services, (service, index) => tearDown(service, laneOf(index + 1)))
      } finally {
        closeConnections()
        await stopRigs()
      }
    }
  } catch (error) {
    await stopRigs()
    throw error
  }
}

/** Does the work for all items at once, and waits for each. Then it throws the first failure. */
async function eachToItsEnd<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const running = items.map(work)
  await Promise.allSettled(running)
  return Promise.all(running)
}

/** Stops what an interrupted run has left in a lane, and starts its Internet. */
async function prepare(lane: Lane): Promise<Rig> {
  await stopService('SIGTERM', lane)
  await rm(lane.temporaryDir, { recursive: true, force: true })
  await mkdir(lane.temporaryDir, { recursive: true, mode: 0o700 })
  const rig = await startRig(lane)
  useRig(rig.facts, lane)
  return rig
}

/** The files that a copy of a state directory leaves out: it is an installation of its own. */
const ofOneInstallation = ['installation.json', 'running.json', 'holtd.log']

/**
 * Gives each new lane a copy of the first lane's state, so that the base template is built once.
 */
async function seedLanes([first, ...others]: readonly Lane[]): Promise<void> {
  const isNew = ({ stateDir }: Lane) => !existsSync(join(stateDir, 'holt.db'))
  if (first === undefined || !others.some(isNew)) return
  if (isNew(first)) await startLane(first)
  await stopService('SIGTERM', first)
  for (const { stateDir } of others.filter(isNew)) {
    await promisify(execFile)('cp', ['--archive', '--sparse=always', '--no-target-directory', first.stateDir, stateDir])
    for (const name of ofOneInstallation) await rm(join(stateDir, name), { force: true })
  }
}

async function startLane(lane: Lane): Promise<ServiceFacts> {
  try {
    const port = await freePort()
    const pid = await startService(port, {}, lane)
    const facts = await waitUntilReady({ port, pid }, lane)
    await removeAll(facts)
    await warmUp(facts)
    return facts
  } catch (cause) {
    throw new Error(`holtd is not ready; its log ends:\n${serviceLog(lane)}`, { cause })
  }
}

/**
 * Makes and removes a runtime of each class. Things that are made once for all runtimes then exist
 * before the first file looks for leaks.
 */
async function warmUp(facts: ServiceFacts): Promise<void> {
  const headers = { authorization: `Bearer ${facts.key}`, 'content-type': 'application/json' }
  for (const isolation of ['gvisor', 'container'] as const) {
    if (facts.unavailable[isolation] !== null) continue
    await send(facts.url, {
      method: 'POST',
      target: '/v1/agents/runtime',
      headers,
      body: JSON.stringify({ isolation }),
    })
  }
  await removeAll(facts)
}

async function tearDown(facts: ServiceFacts, lane: Lane): Promise<void> {
  try {
    if (findService(lane) === null) throw new Error(`holtd has exited; its log ends:\n${serviceLog(lane)}`)
    await removeAll(facts)
  } finally {
    await stopService('SIGTERM', lane)
  }
  const { code, output } = await runService('purge', facts.port, lane)
  if (code !== 0) throw new Error(`purge failed with ${code}: ${output}`)
  // A process that was killed may still be on its way out.
  await until('nothing is left', async () => leftBehind(facts, lane).length === 0, EXIT_TIMEOUT_MS).catch(() => {
    throw new Error(`left behind after purge:\n${leftBehind(facts, lane).join('\n')}`)
  })
}

function leftBehind(facts: ServiceFacts, lane: Lane): string[] {
  return addedTo([], listBelongings(facts, lane)).filter(
    (line) => !line.startsWith('file ') || line.startsWith('file runtimes/'),
  )
}

async function waitUntilReady({ port, pid }: { port: number; pid: number }, lane: Lane): Promise<ServiceFacts> {
  const { stateDir } = lane
  const url = `http://127.0.0.1:${port}`
  const progress = reportProgress(url)
  const readiness = await until(
    'holtd is ready',
    async () => {
      if (!isRunning(pid)) throw new Error('holtd has exited')
      const answer = await send(url, { method: 'GET', target: '/readyz', timeoutMs: 5_000 }).catch(() => null) // Not listening yet.
      if (answer === null) return null
      const state = Readiness.parse(JSON.parse(answer.bytes.toString()))
      if (state.status === 'ready' && (await templatesRest(url, key(lane) ?? ''))) return state
      await progress(key(lane), state.reasons)
      return null
    },
    READY_TIMEOUT_MS,
  )
  return {
    url,
    port,
    key: key(lane) ?? '',
    stateDir,
    ...installation(lane),
    unavailable: { gvisor: reasonOf(readiness, 'gvisor'), container: reasonOf(readiness, 'container') },
  }
}

/**
 * Runtimes can be made before each template has its checkpoint; those that are still taken would
 * look like leaks.
 */
async function templatesRest(url: string, apiKey: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const { status, bytes } = await send(url, { method: 'GET', target: '/v1/agents/template?limit=100', headers })
  if (status !== 200) return false
  const { data } = pageOf(Template).parse(JSON.parse(bytes.toString()))
  return data.every(({ state, progress }) => state !== 'building' && progress === null)
}

function reasonOf(readiness: Readiness, isolation: 'gvisor' | 'container'): string | null {
  const facts = readiness.isolation[isolation]
  if (facts?.available === true) return null
  return facts?.reason ?? 'the service does not know this class'
}

function key({ stateDir }: Lane): string | null {
  const path = join(stateDir, 'credentials.json')
  if (!existsSync(path)) return null
  return (JSON.parse(readFileSync(path, 'utf8')) as { key: string }).key
}

function installation({ stateDir }: Lane): { installationId: string; runDir: string } {
  const { id } = JSON.parse(readFileSync(join(stateDir, 'installation.json'), 'utf8')) as { id: string }
  return { installationId: id, runDir: join('/run/holt', id) }
}
