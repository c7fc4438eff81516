import { setTimeout as sleep } from 'node:timers/promises'
import { pointNameIn } from '../../e2e/support/rig/ask-rig.ts'
import { npmHost } from '../../e2e/support/rig/package-index.ts'
import { type Registry, startRegistry } from '../../packages/builder/test/support/registry.ts'
import type { Need } from './example-runs.ts'
import { pushPythonImage } from './python-image.ts'
import { headers, service } from './tested-service.ts'

/** The time for a template of Holt's, in milliseconds. Its build fetches up to 500 MB. */
const buildTimeoutMs = 30 * 60_000

/** Prepares the parts of the service that examples need besides its API, each at its first use. */
export class Preparations implements AsyncDisposable {
  readonly #done = new Map<Need, Promise<void>>()
  #registry: Registry | undefined

  /** Waits until the service has what an example needs. */
  ready(need: Need): Promise<void> {
    const running = this.#done.get(need) ?? this.#prepare(need)
    this.#done.set(need, running)
    return running
  }

  async #prepare(need: Need): Promise<void> {
    const { debianArchive, npmRegistry, packageIndex } = service.rig
    if (need === 'code interpreter')
      return buildTemplate('code-interpreter', { ...packageIndex, [npmHost]: npmRegistry })
    if (need === 'desktop') return buildTemplate('desktop', debianArchive)
    // Provisioning and `aptInstall` fetch packages.
    await pointNames(debianArchive)
    if (need === 'debian archive') return
    this.#registry = await startRegistry(service.registryPort)
    await pushPythonImage(this.#registry.address)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry?.[Symbol.asyncDispose]()
  }
}

/** Builds a template of Holt's as users do: a create does not wait for it. */
async function buildTemplate(name: string, hosts: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const path = `${service.url}/v1/agents/template/${name}`
  const read = async () => (await (await fetch(path, { headers })).json()) as { state: string; state_reason: unknown }
  if ((await read()).state === 'ready') return
  await pointNames(hosts)
  await fetch(`${path}/pull`, { method: 'POST', headers, body: '{}' })
  const deadline = performance.now() + buildTimeoutMs
  for (;;) {
    const { state, state_reason: reason } = await read()
    if (state === 'ready') return
    if (state !== 'building' || performance.now() > deadline)
      throw new Error(`the template ${name} is ${state}: ${JSON.stringify(reason)}`)
    await sleep(1_000)
  }
}

/** Makes names of the rig resolve to the real hosts. */
async function pointNames(hosts: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const missing = Object.entries(hosts).flatMap(([name, addresses]) => (addresses.length === 0 ? [name] : []))
  if (missing.length > 0 || Object.keys(hosts).length === 0)
    throw new Error(`FIX: this machine cannot reach ${missing.join(', ') || 'its package index'}`)
  for (const [name, addresses] of Object.entries(hosts)) await pointNameIn(service.rig, name, addresses)
}
