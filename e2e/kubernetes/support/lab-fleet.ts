import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Holt, type Host, type Runtime } from '@holt/sdk'
import { vi } from 'vitest'
import { ask } from '../../../packages/server/test/support/postgres-cluster.ts'
import { chart, imageFile, type Lab } from './lab.ts'
import type { LabRegistry } from './registry.ts'

/** The namespace of the release. */
export const namespace = 'holt'

/** The bound of each wait in a lab, in milliseconds. */
export const bound = { timeout: 240_000, interval: 500 }

/** Loads the image on every Node, and makes the namespace, the Secrets and the bucket. */
export async function prepare(lab: Lab, registry: LabRegistry): Promise<void> {
  await lab.lab('load', imageFile() ?? '')
  await mkdir(join(lab.env.KUBE_LAB_DIR ?? '', 's3/holt'), { recursive: true })
  const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' }
  await lab.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
  const key = { id: randomBytes(6).toString('hex'), key: randomBytes(32).toString('base64'), created_at: Date.now() }
  const { DATABASE_URL = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = lab.env
  await lab.apply(
    secret('holt-database', { url: DATABASE_URL }),
    secret('holt-master-keys', { 'master-keys.json': JSON.stringify({ keys: [key] }) }),
    secret('holt-object-store', { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }),
    registries(registry),
  )
}

/** Returns the ConfigMap by which hosts pull images from the registry of the lab without TLS. */
export function registries({ address }: LabRegistry): object {
  const insecure = `[[registry]]\nlocation = "${address}"\ninsecure = true\n`
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'registries', namespace },
    data: { 'lab.conf': insecure },
  }
}

function secret(name: string, stringData: object): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
}

/** Writes the values of the release, and returns the arguments of `helm` that name them. */
export async function valuesFile(lab: Lab, registry: LabRegistry): Promise<readonly string[]> {
  const file = join(lab.env.KUBE_LAB_DIR ?? '', 'values.json')
  const values = {
    ...labValues(registry),
    database: { existingSecret: 'holt-database' },
    masterKeys: { existingSecret: 'holt-master-keys' },
    objectStore: { url: objectStoreOf(lab), existingSecret: 'holt-object-store' },
  }
  await writeFile(file, JSON.stringify(values))
  return ['--namespace', namespace, '--values', file, 'fleet', chart]
}

/** Returns the address of the bucket of a lab. */
export function objectStoreOf({ env }: Lab): string {
  return `s3://holt?endpoint=${env.S3_ENDPOINT}&region=us-east-1`
}

/** Returns the values that are for a lab alone. */
export function labValues(registry: LabRegistry): object {
  return {
    image: { pullPolicy: 'Never' },
    // This machine has little memory, and no time for five minutes of silence.
    resources: { requests: { cpu: '10m', memory: '64Mi' } },
    minReadySeconds: 1,
    pools: { min: 0, max: 0 },
    fleet: { suspect: 15, fence: 60, verdict: 70 },
    preflight: { nodes: 2 },
    extraEnv: [{ name: 'HOLT_BASE_IMAGE', value: registry.reference }],
    extraVolumes: [{ name: 'registries', configMap: { name: 'registries' } }],
    extraVolumeMounts: [{ name: 'registries', mountPath: '/etc/containers/registries.conf.d' }],
  }
}

/** The hosts of the release. */
export class LabFleet {
  readonly #lab: Lab

  constructor(lab: Lab) {
    this.#lab = lab
  }

  /** Returns the name and the address of the pod on a Node. */
  async pod(node: string): Promise<{ readonly name: string; readonly address: string }> {
    const select = ['-l', 'app.kubernetes.io/component=host', '--field-selector', `spec.nodeName=${node}`]
    const path = '{.items[0].metadata.name} {.items[0].status.podIP}'
    const out = await this.#lab.asked('-n', namespace, 'get', 'pods', ...select, '-o', `jsonpath=${path}`)
    const [name = '', address = ''] = out.split(' ')
    return { name, address }
  }

  /** Returns a client of the host on a Node, with the first key of that host. */
  async client(node: string): Promise<Holt> {
    const { name, address } = await this.pod(node)
    const text = await this.#lab.asked('-n', namespace, 'exec', name, '--', 'cat', '/var/lib/holt/credentials.json')
    return new Holt({ url: `http://${address}:4658`, apiKey: JSON.parse(text).key })
  }

  /**
   * Returns a client of the Service, as clients in the cluster use it, with a key. Default: that of
   * a front.
   */
  async clientOfService(key?: string): Promise<Holt> {
    const path = 'jsonpath={.spec.clusterIP}'
    const address = await this.#lab.asked('-n', namespace, 'get', 'service', 'fleet', '-o', path)
    if (key !== undefined) return new Holt({ url: `http://${address}`, apiKey: key })
    const cat = ['exec', 'deployment/fleet-front', '--', 'cat', '/var/lib/holt/state/credentials.json']
    const text = await this.#lab.asked('-n', namespace, ...cat)
    return new Holt({ url: `http://${address}`, apiKey: JSON.parse(text).key })
  }

  /** Returns the ids of the hosts that have left the fleet by themselves. */
  async leftHosts(): Promise<readonly string[]> {
    const select = "SELECT host_id FROM hosts WHERE state = 'gone' ORDER BY host_id"
    return (await ask(this.#lab.env.DATABASE_URL ?? '', select)).map(({ host_id }) => host_id)
  }

  /** Waits until the host on a Node is ready. */
  async ready(node: string): Promise<void> {
    const isReady = async () => {
      const { address } = await this.pod(node)
      return (await fetch(`http://${address}:4658/readyz`, { signal: AbortSignal.timeout(5_000) })).ok
    }
    await vi.waitUntil(() => isReady().catch(() => false), bound)
  }

  /** Creates a runtime through the host of a Node, as soon as its template is there. */
  async create(node: string): Promise<Runtime> {
    return vi.waitFor(async () => (await this.client(node)).runtimes.create(), bound)
  }

  /** Returns the pods and the end of their logs, for the message of a test that fails. */
  async describe(): Promise<string> {
    const pods = await this.#lab.kubectl('-n', namespace, 'get', 'pods', '-o', 'wide')
    const select = ['-l', 'holt.dev/peer=true', '--prefix', '--tail=30']
    const logs = await this.#lab.kubectl('-n', namespace, 'logs', ...select)
    return `${pods.out}\n${logs.out}`
  }

  /**
   * Creates a runtime on a Node: the others make none meanwhile. It asks the host of the Node, or
   * whom a client asks.
   */
  async createOn(node: string, given?: Holt): Promise<Runtime> {
    const client = given ?? (await this.client(node))
    const others = (await client.hosts.list().all()).filter(
      ({ name, fleet }) => name !== node && fleet?.state === 'ready',
    )
    const seen = (state: string) =>
      vi.waitUntil(async () => {
        const states = statesOf(await client.hosts.list().all())
        return others.every(({ name }) => states[name] === state)
      }, bound)
    for (const { host_id } of others) await client.hosts.cordon(host_id)
    await seen('cordoned')
    try {
      return await vi.waitFor(() => client.runtimes.create(), bound)
    } finally {
      for (const { host_id } of others) await client.hosts.uncordon(host_id)
      await seen('ready')
    }
  }

  /** Returns a runtime, as the host of a Node answers it. */
  async runtime(node: string, id: string): Promise<Runtime> {
    return (await this.client(node)).runtimes.get(id)
  }

  /** Runs a shell command in a runtime, through the host of a Node. Returns what it prints. */
  async shell(node: string, id: string, command: string): Promise<string> {
    return (await (await this.runtime(node, id)).commands.run(command)).stdout.trim()
  }

  /** Returns the Node of the host that has a runtime; null: it belongs to the whole fleet. */
  async nodeOf(id: string): Promise<string | null> {
    const select = `SELECT node FROM hosts JOIN runtimes USING (host_id) WHERE runtime_id = '${id}'`
    const [row] = await ask(this.#lab.env.DATABASE_URL ?? '', select)
    return row?.node ?? null
  }

  /** Returns the state of each host by the name of its Node. */
  async states(node: string): Promise<Readonly<Record<string, string>>> {
    return statesOf(await (await this.client(node)).hosts.list().all())
  }
}

/** Returns the states of hosts by their names. */
export function statesOf(hosts: readonly Host[]): Readonly<Record<string, string>> {
  return Object.fromEntries(hosts.map(({ name, fleet }) => [name, fleet?.state ?? '']))
}
