import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chart, helm, lacksHelm } from './support/lab.ts'

const given = ['database.existingSecret=db', 'masterKeys.existingSecret=keys', 'objectStore.url=s3://holt']

/** The values by which hosts are workers. */
const withWorkers = [
  'workers.enabled=true',
  'workers.joinTokenSecret=join',
  'fronts.enabled=true',
  'fronts.nodeSelector.kind=front',
]

/** Renders the chart with values of the form `name=value`. */
function render(...values: string[]) {
  return helm('template', 'fleet', chart, '--namespace', 'holt', ...values.flatMap((value) => ['--set', value]))
}

/** Returns the manifest of one object. */
async function manifest(kind: string, name: string, ...values: string[]): Promise<string> {
  const { code, out } = await render(...given, ...values)
  expect([code, code === 0 ? '' : out]).toEqual([0, ''])
  const isWanted = (one: string) => one.includes(`\nkind: ${kind}\n`) && one.includes(`\n  name: ${name}\n`)
  return out.split(/^---$/m).find(isWanted) ?? ''
}

describe.skipIf(lacksHelm() !== '')(`the Helm chart${lacksHelm()}`, () => {
  test('has no fault that helm lint finds', async () => {
    const values = given.flatMap((value) => ['--set', value])
    const { code, out } = await helm('lint', '--strict', chart, ...values)
    expect([code, out]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
  })

  test.each([
    ['database.existingSecret', 'make a Secret with the address of PostgreSQL'],
    ['masterKeys.existingSecret', 'make a Secret with the master keys'],
    ['objectStore.url', 'hosts of a fleet share an object store'],
  ])('is refused without %s', async (name, message) => {
    const { code, out } = await render(...given.filter((value) => !value.startsWith(name)))
    expect([code, out]).toEqual([1, expect.stringContaining(message)])
  })

  test.each([
    'image.pullPolicy=Often',
    'pools.max=many',
    'stateDir=relative',
    'databse.url=x',
    'service.port=0',
    'fronts.replicas=0',
  ])('is refused with %s', async (value) => {
    const { code, out } = await render(...given, value)
    expect([code, out]).toEqual([1, expect.stringContaining("values don't meet the specifications of the schema")])
  })

  test('the schema has every value, and each value its description', async () => {
    const [values, schema] = await Promise.all(
      ['values.yaml', 'values.schema.json'].map((name) => readFile(join(chart, name), 'utf8')),
    )
    const names = [...(values ?? '').matchAll(/^(\w+):/gm)].map(([, name]) => name)
    const known = Object.keys(JSON.parse(schema ?? '').properties).filter((name) => name !== 'global')
    expect(names.toSorted()).toEqual(known.toSorted())
  })

  test('no secret is in a manifest: each is named', async () => {
    const { out } = await render(...given, 'objectStore.existingSecret=s3')
    expect(out).not.toContain('kind: Secret')
    for (const name of ['"db"', '"s3"']) expect(out).toContain(`secretKeyRef: {name: ${name}`)
    expect(out).toContain('secretName: "keys"')
  })

  test('the keys of artifacts are a file from a Secret, if one is named', async () => {
    const host = await manifest('DaemonSet', 'fleet', 'artifactKey.existingSecret=sealing')
    expect(host).toContain('{name: HOLT_ARTIFACT_KEY, value: /etc/holt/artifact-keys/keys}')
    expect(host).toContain('secretName: "sealing"')
    expect(await manifest('DaemonSet', 'fleet')).not.toContain('HOLT_ARTIFACT_KEY')
  })

  test('a host has what its runtimes need to outlive its pod', async () => {
    const host = await manifest('DaemonSet', 'fleet')
    expect(host).toContain('hostPID: true')
    expect(host).toContain('{name: state, mountPath: "/var/lib/holt", mountPropagation: Bidirectional}')
    expect(host).toContain('{name: run, mountPath: /run/holt, mountPropagation: Bidirectional}')
    expect(host).toContain('holt.dev/host: "true"')
    // A drain at each upgrade would move every runtime.
    expect(host).not.toContain('preStop')
    expect(host).not.toContain('hostNetwork')
  })

  test('the image is named by its digest, if there is one', async () => {
    const digest = `sha256:${'a'.repeat(64)}`
    expect(await manifest('DaemonSet', 'fleet', 'image.tag=1.2', 'image.repository=r.lan/holt')).toContain(
      'image: r.lan/holt:1.2\n',
    )
    expect(await manifest('DaemonSet', 'fleet', `image.digest=${digest}`)).toContain(`image: holt@${digest}\n`)
  })

  test('a host may read Nodes, make and remove guards, and nothing else', async () => {
    const nodes = await manifest('ClusterRole', 'holt-fleet')
    expect(nodes.slice(nodes.indexOf('rules:'))).toMatch(/resources: \[nodes\]\n\s+verbs: \[get, watch\]\s*$/)
    const guards = await manifest('Role', 'fleet-guards')
    expect(guards.match(/verbs: .*/g)).toEqual(['verbs: [create, delete]', 'verbs: [create, delete]'])
    expect(guards.match(/resources: .*/g)).toEqual(['resources: [pods]', 'resources: [poddisruptionbudgets]'])
    expect(await manifest('Role', 'fleet-guards', 'guard.enabled=false')).toBe('')
    expect(await manifest('DaemonSet', 'fleet', 'guard.enabled=false')).not.toContain('GUARD_IMAGE')
  })

  test('only hosts and fronts reach the port for hosts', async () => {
    const from = ['networkPolicy.from[0].podSelector.matchLabels.app=proxy', 'fronts.enabled=true']
    const clients = await manifest('NetworkPolicy', 'fleet', ...from)
    expect(clients).toMatch(/\[\{port: http\}\]\n\s+from:\s+- podSelector:\s+matchLabels:\s+app: proxy\s*$/)
    expect(clients).toContain('component: front')
    const peers = await manifest('NetworkPolicy', 'fleet-peers', ...from)
    expect(peers.match(/port: \w+|holt.dev\/peer/g)).toEqual(['holt.dev/peer', 'port: peers', 'holt.dev/peer'])
    for (const name of ['fleet', 'fleet-peers'])
      expect(await manifest('NetworkPolicy', name, 'networkPolicy.enabled=false')).toBe('')
    const scraped = await manifest(
      'NetworkPolicy',
      'fleet-peers',
      'networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus',
    )
    expect(scraped).toMatch(/port: http\}\]\n\s+from:\s+- podSelector:\s+matchLabels:\s+app: prometheus/)
  })

  test('clients reach hosts, and with fronts only these', async () => {
    const componentOf = async (...values: string[]) =>
      /selector:[\s\S]*component: (\w+)/.exec(await manifest('Service', 'fleet', ...values))?.[1]
    expect(await componentOf()).toBe('host')
    expect(await componentOf('fronts.enabled=true')).toBe('front')
    expect(await manifest('Deployment', 'fleet-front')).toBe('')
  })

  test.each([
    ['workers.joinTokenSecret', 'name the Secret for the token'],
    ['fronts.enabled', 'workers.enabled needs fronts'],
    ['fronts.nodeSelector', 'fronts need Nodes of their own'],
  ])('workers are refused without %s', async (name, message) => {
    const { code, out } = await render(...given, ...withWorkers.filter((value) => !value.startsWith(name)))
    expect([code, out]).toEqual([1, expect.stringContaining(message)])
  })

  test('a worker and its preflight have no key of the fleet, and no access to the API server', async () => {
    const sealing = 'artifactKey.existingSecret=sealing'
    for (const [kind, name] of [
      ['DaemonSet', 'fleet'],
      ['Job', 'fleet-preflight'],
    ] as const) {
      const worker = await manifest(kind, name, ...withWorkers, sealing)
      for (const word of ['"keys"', '"db"', 'HOLT_MASTER_KEYS_FILE', 'HOLT_DATABASE_URL', 'GUARD_IMAGE', 'EVICTIONS'])
        expect([kind, worker.includes(word), word]).toEqual([kind, false, word])
      for (const line of [
        '{name: HOLT_ROLE, value: worker}',
        '{name: HOLT_JOIN_TOKEN_FILE, value: /etc/holt/join/token}',
        'value: "fleet-join.holt:4659"',
        'secretName: "join"',
        'secretName: "sealing"',
        'automountServiceAccountToken: false',
      ])
        expect(worker).toContain(line)
    }
    const worker = await manifest('DaemonSet', 'fleet', ...withWorkers, 'workers.joinAddress=10.1.2.3:4659')
    expect(worker).toContain('value: "10.1.2.3:4659"')
    expect(worker).toContain('serviceAccountName: fleet-worker')
    expect(worker).toContain('- serviceAccountToken: {path: token, audience: holt, expirationSeconds: 3600}')
    const { out } = await render(...given, ...withWorkers)
    expect(out.match(/kind: ServiceAccount, name: .*?,/g)).toEqual([
      'kind: ServiceAccount, name: fleet-front,',
      'kind: ServiceAccount, name: fleet-front,',
    ])
  })

  test('fronts watch over the Nodes of workers, and are on no such Node', async () => {
    const on = ['guard.evictions.enabled=true', 'guard.evictions.tlsSecret=cert', 'guard.evictions.caBundle=QUJD']
    const front = await manifest('Deployment', 'fleet-front', ...withWorkers, ...on, 'drainOnCordon=true')
    for (const line of [
      '{name: HOLT_KUBERNETES_DRAIN_ON_CORDON, value: "1"}',
      '{name: HOLT_KUBERNETES_GUARD_IMAGE, value: "holt:0.2.0"}',
      '{name: HOLT_KUBERNETES_EVICTIONS, value: /etc/holt/evictions}',
      'secretName: "cert"',
      'kind: front',
      '{key: "holt.dev/host", operator: NotIn, values: ["true"]}',
    ])
      expect(front).toContain(line)
    const nodes = await manifest('ClusterRole', 'holt-fleet', ...withWorkers)
    expect(nodes.match(/resources: .*|verbs: .*/g)).toEqual([
      ...['resources: [nodes]', 'verbs: [get]', 'resources: [tokenreviews]', 'verbs: [create]'],
    ])
    expect(await manifest('Service', 'fleet-evictions', ...withWorkers, ...on)).toContain('component: front')
    expect(await manifest('Service', 'fleet-join', ...withWorkers)).toMatch(/component: front[\s\S]*port: 4659/)
    expect(await manifest('Service', 'fleet-join')).toBe('')
  })

  test('fronts alone reach workers, and workers reach fronts', async () => {
    const allowed = async (name: string) =>
      (await manifest('NetworkPolicy', name, ...withWorkers)).match(/component: \w+|port: \w+|holt.dev\/peer/g)
    expect(await allowed('fleet')).toEqual(['component: front', 'port: http'])
    expect(await allowed('fleet-peers')).toEqual(['holt.dev/peer', 'port: peers', 'component: front'])
    expect(await allowed('fleet-workers')).toEqual(['component: front', 'port: peers', 'component: host'])
    expect(await manifest('NetworkPolicy', 'fleet-workers')).toBe('')
  })

  test('a front has no privileges and nothing of its Node, and judges by the Nodes of hosts', async () => {
    const front = await manifest('Deployment', 'fleet-front', 'fronts.enabled=true', 'fronts.replicas=3')
    for (const line of [
      'replicas: 3',
      'serviceAccountName: fleet-front',
      "{name: HOLT_KUBERNETES, value: '1'}",
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'capabilities: {drop: [ALL]}',
      '{name: HOLT_ROLE, value: front}',
      '{name: HOLT_STATE_DIR, value: /var/lib/holt/state}',
      'topologyKey: kubernetes.io/hostname',
    ])
      expect(front).toContain(line)
    for (const word of ['hostPath', 'hostPID', 'privileged', 'GUARD_IMAGE']) expect(front).not.toContain(word)
  })

  test('one front after another is disrupted, if there are several', async () => {
    const budget = (replicas: number) =>
      manifest('PodDisruptionBudget', 'fleet-front', 'fronts.enabled=true', `fronts.replicas=${replicas}`)
    expect(await budget(2)).toContain('maxUnavailable: 1')
    expect(await budget(1)).toBe('')
  })

  test('evictions of guards alone are told to hosts, by a webhook that refuses nothing', async () => {
    const on = ['guard.evictions.enabled=true', 'guard.evictions.tlsSecret=cert', 'guard.evictions.caBundle=QUJD']
    const webhook = await manifest('ValidatingWebhookConfiguration', 'holt-fleet-evictions', ...on)
    for (const line of [
      'failurePolicy: Ignore',
      'caBundle: QUJD',
      'service: {name: fleet-evictions, namespace: holt, port: 443, path: /}',
      "expression: request.name.startsWith('holt-guard-')",
      'resources: [pods/eviction]',
    ])
      expect(webhook).toContain(line)
    const host = await manifest('DaemonSet', 'fleet', ...on)
    expect(host).toContain('{name: HOLT_KUBERNETES_EVICTIONS, value: /etc/holt/evictions}')
    expect(host).toContain('secretName: "cert"')
    expect((await render(...given)).out).not.toContain('HOLT_KUBERNETES_EVICTIONS')
    for (const [wrong, message] of [
      ['tlsSecret', 'guard.evictions.tlsSecret is empty'],
      ['caBundle', 'guard.evictions.caBundle is empty'],
    ] as const) {
      const { code, out } = await render(...given, ...on.filter((value) => !value.includes(wrong)))
      expect([code, out]).toEqual([1, expect.stringContaining(message)])
    }
  })

  test('monitoring needs the Prometheus Operator, and is off without a wish', async () => {
    expect((await render(...given)).out).not.toContain('monitoring.coreos.com')
    const on = ['monitoring.serviceMonitor=true', 'monitoring.prometheusRule=true', 'monitoring.keySecret=scrape']
    expect(await manifest('ServiceMonitor', 'fleet', ...on)).toContain('credentials: {name: "scrape", key: key}')
    expect(await manifest('PrometheusRule', 'fleet', ...on)).toContain('alert: HoltHostDown')
  })
})
