import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pageOf, Readiness, Template } from '@holt/protocol'
import { freePort } from '@holt/testkit'
import type { TestProject } from 'vitest/node'
import type { ServiceFacts } from './facts.ts'
import { closeConnections, send } from './http.ts'
import { addedTo, listBelongings } from './leaks.ts'
import { removeAll } from './remove-all.ts'
import { reportProgress } from './report-progress.ts'
import { startRig } from './rig/start-rig.ts'
import {
  findService,
  runService,
  serviceLog,
  startService,
  stateDir,
  stopService,
  temporaryDir,
  useRig,
} from './service-process.ts'
import { until } from './until.ts'

/** The first start of all makes the base template from distribution packages. */
const READY_TIMEOUT_MS = 20 * 60_000

/** Starts the one real service that all tests share, and stops it at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) throw new Error('FIX: run as root: runtimes need mounts, cgroups and namespaces')
  await stopService() // One that an interrupted run has left.
  await rm(temporaryDir, { recursive: true, force: true })
  await mkdir(temporaryDir, { recursive: true, mode: 0o700 })
  const rig = await startRig()
  project.provide('rig', rig.facts)
  const port = await freePort()
  useRig(rig.facts)
  await startService(port)
  try {
    const facts = await waitUntilReady(port)
    await removeAll(facts)
    await warmUp(facts)
    project.provide('service', facts)
    return async () => {
      try {
        await tearDown(facts)
      } finally {
        await rig[Symbol.asyncDispose]()
      }
    }
  } catch (cause) {
    await stopService()
    await rig[Symbol.asyncDispose]()
    throw new Error(`holtd is not ready; its log ends:\n${serviceLog()}`, { cause })
  }
}

/** Makes and removes a runtime of each class, so that what is made once for all of them is there before the first file looks for leaks. */
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

async function tearDown(facts: ServiceFacts): Promise<void> {
  try {
    if (findService() === null) throw new Error(`holtd has exited; its log ends:\n${serviceLog()}`)
    await removeAll(facts)
  } finally {
    closeConnections()
    await stopService()
  }
  const { code, output } = await runService('purge', facts.port)
  if (code !== 0) throw new Error(`purge failed with ${code}: ${output}`)
  const left = addedTo([], listBelongings(facts)).filter(
    (line) => !line.startsWith('file ') || line.startsWith('file runtimes/'),
  )
  if (left.length > 0) throw new Error(`left behind after purge:\n${left.join('\n')}`)
}

async function waitUntilReady(port: number): Promise<ServiceFacts> {
  const url = `http://127.0.0.1:${port}`
  const progress = reportProgress(url)
  const readiness = await until(
    'holtd is ready',
    async () => {
      if (findService() === null && existsSync(join(stateDir, 'holtd.pid'))) await diedOrStarting()
      const answer = await send(url, { method: 'GET', target: '/readyz', timeoutMs: 5_000 }).catch(() => null) // Not listening yet.
      if (answer === null) return null
      const state = Readiness.parse(JSON.parse(answer.bytes.toString()))
      if (state.status === 'ready' && (await templatesRest(url, key() ?? ''))) return state
      await progress(key(), state.reasons)
      return null
    },
    READY_TIMEOUT_MS,
  )
  return {
    url,
    port,
    key: key() ?? '',
    stateDir,
    ...installation(),
    unavailable: { gvisor: reasonOf(readiness, 'gvisor'), container: reasonOf(readiness, 'container') },
  }
}

/** Runtimes can be made before each template has its checkpoint; those that are still taken would look like leaks. */
async function templatesRest(url: string, apiKey: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const { status, bytes } = await send(url, { method: 'GET', target: '/v1/agents/template?limit=100', headers })
  if (status !== 200) return false
  const { data } = pageOf(Template).parse(JSON.parse(bytes.toString()))
  return data.every(({ state, progress }) => state !== 'building' && progress === null)
}

/** Fails when there is still no daemon a moment after its lock was found stale: it has exited. */
async function diedOrStarting(): Promise<void> {
  await until('holtd runs', async () => findService() !== null, 10_000)
}

function reasonOf(readiness: Readiness, isolation: 'gvisor' | 'container'): string | null {
  const facts = readiness.isolation[isolation]
  if (facts?.available === true) return null
  return facts?.reason ?? 'the service does not know this class'
}

function key(): string | null {
  const path = join(stateDir, 'credentials.json')
  if (!existsSync(path)) return null
  return (JSON.parse(readFileSync(path, 'utf8')) as { key: string }).key
}

function installation(): { installationId: string; runDir: string } {
  const { id } = JSON.parse(readFileSync(join(stateDir, 'installation.json'), 'utf8')) as { id: string }
  return { installationId: id, runDir: join('/run/holt', id) }
}
