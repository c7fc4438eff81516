import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Holt } from '@holt/sdk'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { busybox, type Lab, lacksLab, run, startLab } from './support/lab.ts'
import { bound, LabFleet, namespace, prepare, valuesFile } from './support/lab-fleet.ts'
import { type LabRegistry, startLabRegistry } from './support/registry.ts'

// The tests are one story: each continues where the one before it ended.
describe.skipIf(lacksLab() !== '')(`fronts before a host on a Node${lacksLab()}`, () => {
  let lab: Lab
  let registry: LabRegistry
  let fleet: LabFleet
  let release: readonly string[]
  let client: Holt
  /** A runtime with a process that counts. */
  let counting: string

  beforeAll(async () => {
    lab = await startLab()
    registry = await startLabRegistry(lab.hostAddress, busybox)
    fleet = new LabFleet(lab)
    await prepare(lab, registry)
    const fronts = { 'fronts.enabled': 'true', 'fronts.resources.requests.cpu': '10m' }
    const sets = Object.entries(fronts).flatMap(([name, value]) => ['--set', `${name}=${value}`])
    release = [...(await valuesFile(lab, registry)), ...sets]
    await lab.asked('label', 'node', 'node2', 'holt.dev/host=true')
    const { code, out } = await lab.helm('install', '--wait', '--timeout', '120s', ...release)
    expect([code, out], await fleet.describe()).toEqual([0, expect.stringContaining('STATUS: deployed')])
  })

  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  const shell = async (command: string) =>
    (await (await client.runtimes.get(counting)).commands.run(command)).stdout.trim()

  test('a create through the Service makes a runtime on the Node with the label', async () => {
    client = await fleet.clientOfService()
    const runtime = await vi.waitFor(() => client.runtimes.create(), bound)
    counting = runtime.runtime_id
    expect(await fleet.nodeOf(counting)).toBe('node2')
    await runtime.commands.start('echo $$ >/tmp/pid; i=0; while :; do i=$((i+1)); echo $i >/tmp/count; sleep 0.2; done')
    await vi.waitUntil(async () => Number(await shell('cat /tmp/count')) > 2, bound)
  })

  test('the fronts are on two Nodes, and a namespace with the profile restricted admits them', async () => {
    const select = ['get', 'pods', '-l', 'app.kubernetes.io/component=front', '-o', 'json']
    const pods: { readonly spec: { readonly nodeName: string } }[] = JSON.parse(
      await lab.asked('-n', namespace, ...select),
    ).items
    expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(['node1', 'node2']))
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
    await lab.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'restricted', labels } })
    const metadata = { name: 'front', namespace: 'restricted' }
    const spec = { ...pods[0]?.spec, serviceAccountName: 'default', serviceAccount: 'default' }
    await vi.waitFor(() => lab.dryRun(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec })), bound)
    const bad = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, hostPID: true } })
    await expect(lab.dryRun(bad)).rejects.toThrow('violates PodSecurity "restricted:latest"')
  })

  test('an upgrade and its rollback end no runtime, and former fronts leave the fleet', async () => {
    const before = await shell('cat /tmp/pid /tmp/count')
    const host = await fleet.pod('node2')
    const upgrade = ['upgrade', '--wait', '--timeout', '240s', ...release, '--set-string', 'podAnnotations.try=2']
    const upgraded = await lab.helm(...upgrade)
    expect([upgraded.code, upgraded.out]).toEqual([0, expect.stringContaining('STATUS: deployed')])
    const later = await fleet.pod('node2')
    expect(later.name).not.toBe(host.name)
    const back = await lab.helm('rollback', 'fleet', '--namespace', namespace, '--wait', '--timeout', '240s')
    expect([back.code, back.out]).toEqual([0, expect.stringContaining('Rollback was a success')])
    expect((await fleet.pod('node2')).name).not.toBe(later.name)
    client = await fleet.clientOfService()
    const [pid, count] = before.split('\n')
    await shell(`kill -0 ${pid}`)
    await vi.waitUntil(async () => Number(await shell('cat /tmp/count')) > Number(count), bound)
    // Two fronts, replaced twice.
    await vi.waitFor(async () => expect(await fleet.leftHosts()).toHaveLength(4), bound)
  })

  test('an attempt to evict the guard empties its host, so a drain of the Node goes through', async () => {
    const caBundle = await makeCertificate(lab)
    const evictions = { enabled: 'true', tlsSecret: 'holt-evictions', caBundle }
    const sets = Object.entries(evictions).flatMap(([name, value]) => ['--set', `guard.evictions.${name}=${value}`])
    await lab.asked('label', 'node', 'node1', 'holt.dev/host=true')
    const upgraded = await lab.helm('upgrade', '--wait', '--timeout', '240s', ...release, ...sets)
    expect([upgraded.code, upgraded.out]).toEqual([0, expect.stringContaining('STATUS: deployed')])
    for (const node of ['node1', 'node2']) await fleet.ready(node)
    client = await fleet.clientOfService()
    const before = await shell('cat /tmp/pid /tmp/count')
    expect(await fleet.nodeOf(counting)).toBe('node2')
    const drain = ['drain', 'node2', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s']
    const drained = await lab.kubectl(...drain)
    expect([drained.code, drained.out]).toEqual([0, expect.stringContaining('node/node2 drained')])
    expect(await fleet.nodeOf(counting)).not.toBe('node2')
    client = await fleet.clientOfService()
    const [pid, count] = before.split('\n')
    await shell(`kill -0 ${pid}`)
    await vi.waitUntil(async () => Number(await shell('cat /tmp/count')) > Number(count), bound)
    await lab.asked('uncordon', 'node2')
    await vi.waitFor(async () => expect(await fleet.states('node1')).toMatchObject({ node2: 'ready' }), bound)
  })
})

/** Makes the Secret with the certificate of the webhook. Returns its authority in base64. */
async function makeCertificate(lab: Lab): Promise<string> {
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) => join(lab.env.KUBE_LAB_DIR ?? '', name)) as [string, string]
  const names = ['-subj', '/CN=evictions', '-addext', 'subjectAltName=DNS:fleet-evictions.holt.svc']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const made = await run('openssl', ['req', '-x509', '-days', '30', ...curve, ...names, '-out', cert, '-keyout', key])
  expect([made.code, made.out]).toEqual([0, expect.anything()])
  await lab.asked('-n', namespace, 'create', 'secret', 'tls', 'holt-evictions', `--cert=${cert}`, `--key=${key}`)
  return (await readFile(cert)).toString('base64')
}
