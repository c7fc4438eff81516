import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Holt } from '@holt/sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { busybox, chart, imageFile, type Lab, lacksLab, run, startLab } from './support/lab.ts'
import { bound, LabFleet, labValues, namespace, objectStoreOf, registries, statesOf } from './support/lab-fleet.ts'
import { openPageShell, type PageShell } from './support/page-shell.ts'
import { type LabRegistry, startLabRegistry } from './support/registry.ts'

const repository = join(import.meta.dirname, '../..')
const [fronts, workers] = [['node1'], ['node2', 'node3']] as const

/** A block may wait for pods for minutes. */
const storyMs = 600_000

// The tests are one story: each continues where the one before it ended, as a reader does.
describe.skipIf(lacksLab() !== '')(`docs/kubernetes.md, word for word${lacksLab()}`, { timeout: storyMs }, () => {
  let lab: Lab
  let registry: LabRegistry
  let fleet: LabFleet
  let page: PageShell
  let client: Holt
  let variables: Readonly<Record<string, string>>
  /** The id of the runtime `hello`, which counts from the first to the last test. */
  let hello: string
  let counted = 0

  beforeAll(async () => {
    lab = await startLab(3)
    registry = await startLabRegistry(lab.hostAddress, busybox)
    fleet = new LabFleet(lab)
    await lab.lab('load', imageFile() ?? '')
    await mkdir(join(lab.env.KUBE_LAB_DIR ?? '', 's3/holt'), { recursive: true })
    const { DATABASE_URL = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = lab.env
    variables = {
      ...{ DATABASE_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, OBJECT_STORE: objectStoreOf(lab) },
      ...{ IMAGE: 'holt', FRONTS: fronts.join(' '), WORKERS: workers.join(' ') },
    }
    // There is no DNS, so workers join at the address of a Service that this test makes.
    const values = {
      ...labValues(registry),
      fronts: { resources: { requests: { cpu: '10m', memory: '64Mi' } } },
      workers: { joinAddress: `${joinIp()}:4659` },
    }
    const text = await readFile(join(repository, 'docs/kubernetes.md'), 'utf8')
    const file = `e2e/kubernetes/${basename(import.meta.filename)}`
    page = await openPageShell({ name: 'docs/kubernetes.md', text, file }, { lab, repository, values, variables })
  })

  /** True after a part of the story has failed: those after it could only wait. */
  let isOver = false
  beforeEach(({ skip }) => skip(isOver, 'an earlier part has failed'))
  afterEach(({ task }) => {
    isOver ||= task.result?.state === 'fail'
  })

  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  /** Returns an address of a Service of the lab: the first one with another end. */
  const joinIp = () => lab.hostAddress.replace(/\.0\.1$/, '.128.77')

  /** Runs a shell command in a runtime. */
  const shell = async (id: string, command: string) =>
    (await (await client.runtimes.get(id)).commands.run(command)).stdout.trim()

  /** Waits until the process of the runtime `hello`, still the same one, has counted on. */
  const countsOn = async () => {
    await vi.waitFor(async () => {
      const [now, pid] = (await shell(hello, 'cat /tmp/count; cat /tmp/pid')).split('\n')
      await shell(hello, `kill -0 ${pid}`)
      expect(Number(now)).toBeGreaterThan(counted)
      counted = Number(now)
    }, bound)
  }

  /** Returns the images of the pods that run, without doubles. */
  const images = async () => {
    const path = 'jsonpath={.items[*].spec.containers[*].image}'
    const out = await lab.asked('-n', namespace, 'get', 'pods', '-l', 'holt.dev/peer=true', '-o', path)
    return [...new Set(out.split(' '))]
  }

  /** Returns the names of the pods of a component, by their Nodes. */
  const podsOf = async (component: string): Promise<Readonly<Record<string, string>>> => {
    const select = ['get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'json']
    const { items } = JSON.parse(await lab.asked('-n', namespace, ...select))
    return Object.fromEntries(
      items.map(({ spec, metadata }: { spec: { nodeName: string }; metadata: { name: string } }) => [
        spec.nodeName,
        metadata.name,
      ]),
    )
  }

  const areNow = (states: Readonly<Record<string, string>>) =>
    vi.waitFor(async () => expect(statesOf(await client.hosts.list().all())).toMatchObject(states), bound)

  test('the variables of the page are those of this cluster', () => {
    const { commands } = page.take('DATABASE_URL')
    expect([...commands.matchAll(/\b([A-Z_]+)=/g)].map(([, name]) => name).toSorted()).toEqual(
      Object.keys(variables).toSorted(),
    )
  })

  test('fronts are installed, and workers join with a token', async () => {
    await page.run('kubectl create namespace')
    const selector = { 'app.kubernetes.io/instance': 'fleet', 'app.kubernetes.io/component': 'front' }
    const ports = [{ port: 4659, targetPort: 'peers' }]
    const known = { clusterIP: joinIp(), selector, ports }
    await lab.apply(registries(registry), {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'known-join', namespace }, spec: known },
    })
    await page.run('helm -n holt install')
    const out = await page.run('holt fleet token').catch(async (cause: unknown) => {
      throw new Error(await fleet.describe(), { cause })
    })
    expect(out).toMatch(/Phase:\s+Succeeded/)
    const checks = await page.run('job/fleet-preflight')
    expect(checks).toContain('it has joined the fleet')
    expect(checks).not.toContain('"status":"fix"')
  })

  test('a runtime is on a worker, and fronts are on no Node of one', async () => {
    expect(await page.run('holt create -n hello')).toMatch(/^hello$/m)
    const key = (await readFile(join(page.dir, 'own-key'), 'utf8')).trim()
    client = await fleet.clientOfService(key)
    hello = (await client.runtimes.get('hello')).runtime_id
    await (await client.runtimes.get(hello)).commands.start(
      'echo $$ >/tmp/pid; i=0; while :; do i=$((i+1)); echo $i >/tmp/count; sleep 0.2; done',
    )
    await countsOn()
    expect(workers).toContain(await fleet.nodeOf(hello))
    expect(Object.keys(await podsOf('front'))).toEqual(fronts)
    expect(Object.keys(await podsOf('host')).toSorted()).toEqual(workers)
  })

  test('the pod of a worker has no key of the fleet, and no rights in the cluster', async () => {
    const pod = (await podsOf('host')).node2 ?? ''
    const inPod = (...command: string[]) => lab.kubectl('-n', namespace, 'exec', pod, '--', ...command)
    expect((await inPod('ls', '/etc/holt')).out.split('\n').filter(Boolean)).toEqual(['artifact-keys', 'join'])
    expect((await inPod('env')).out).not.toContain('postgres://')
    expect((await inPod('ls', '/var/run/secrets/kubernetes.io')).code).not.toBe(0)
    const as = ['--as', `system:serviceaccount:${namespace}:fleet-worker`]
    for (const what of [
      ['get', 'secrets'],
      ['create', 'pods'],
      ['delete', 'pods'],
      ['get', 'nodes'],
      ['get', 'pods'],
    ]) {
      const { out } = await lab.kubectl('auth', 'can-i', ...what, '-n', namespace, ...as)
      expect([what, /^(?:yes|no)$/m.exec(out)?.[0]]).toEqual([what, 'no'])
    }
    // Its token says which Node it is on. The API server takes it for nothing else.
    const token = (await inPod('cat', '/var/run/secrets/holt.dev/token')).out.trim()
    const server = await lab.asked('config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}')
    const asWorker = ['--kubeconfig=/dev/null', '--insecure-skip-tls-verify', `--server=${server}`, `--token=${token}`]
    const asked = await run(join(lab.env.KUBEBUILDER_ASSETS ?? '', 'kubectl'), [...asWorker, 'get', 'nodes'])
    expect([asked.code, asked.out]).toEqual([1, expect.stringMatching(/Unauthorized|must be logged in/)])
  })

  test('the preflight of a wrong Node fails, and says what is wrong and what mends it', async () => {
    await lab.lab('on', 'node2', 'sh', '-c', 'mkdir -p /mnt/wrong && mount -t tmpfs -o noexec tmpfs /mnt/wrong')
    const only = ['--show-only', 'templates/tests/preflight.yaml', '--namespace', namespace]
    const wrong = ['stateDir=/mnt/wrong', 'preflight.nodes=1', 'nodes.selector.kubernetes\\.io/hostname=node2']
    const given = await lab.helm('get', 'values', 'fleet', '--namespace', namespace, '-o', 'json')
    const [values, job] = ['values', 'job'].map((name) => join(page.dir, `wrong-${name}`)) as [string, string]
    await writeFile(values, given.out)
    const sets = wrong.flatMap((value) => ['--set', value])
    const rendered = await lab.helm('template', 'wrong', chart, '--values', values, ...sets, ...only)
    await writeFile(job, rendered.out)
    await lab.asked('-n', namespace, 'apply', '-f', job)
    await lab.asked('-n', namespace, 'wait', '--for=condition=Failed', 'job/wrong-preflight', '--timeout=240s')
    const { checks } = JSON.parse(await lab.asked('-n', namespace, 'logs', 'job/wrong-preflight'))
    expect(checks).toContainEqual({
      name: 'mount options',
      status: 'fix',
      message: '/mnt/wrong is on /mnt/wrong, which is mounted noexec',
      fix: 'mount -o remount,exec /mnt/wrong',
    })
  })

  test('workers stay in the fleet when their token is revoked and removed', async () => {
    await page.run('--dry-run=client')
    await page.run('holt fleet revoke')
    expect(await client.hosts.listJoinTokens().all()).toEqual([])
    await areNow({ node2: 'ready', node3: 'ready' })
    expect((await page.run('get pods')).match(/Running/g)).toHaveLength(2)
  })

  test('an upgrade and the way back end no runtime', async () => {
    const version = /holt-(.*)-image-/.exec(basename(imageFile() ?? ''))?.[1]
    const names = [`docker.io/library/holt:${version}`, 'docker.io/library/holt:next']
    for (const node of [...fronts, ...workers])
      await lab.lab('on', node, 'ctr', '--namespace', 'k8s.io', 'images', 'tag', ...names)
    await countsOn()
    expect(await page.run('helm -n holt upgrade', { NEW_TAG: 'next' })).toContain('still here')
    await vi.waitFor(async () => expect(await images()).toEqual(['holt:next']), bound)
    await countsOn()
    expect(await page.run('helm -n holt rollback')).toContain('still here')
    await vi.waitFor(async () => expect(await images()).toEqual([`holt:${version}`]), bound)
    await countsOn()
  })

  test('a drain of a Node moves its runtimes to the other worker', async () => {
    await page.run('openssl req')
    const NODE = (await fleet.nodeOf(hello)) ?? ''
    expect(await page.run('kubectl drain', { NODE })).toContain(`node/${NODE} drained`)
    expect(await fleet.nodeOf(hello)).not.toBe(NODE)
    await countsOn()
    await areNow({ node2: 'ready', node3: 'ready' })
  })

  test('a paused runtime resumes on the other worker after a power cut', async () => {
    const host = await fleet.nodeOf(hello)
    const NODE = workers.find((node) => node !== host) ?? ''
    const paused = await fleet.createOn(NODE, client)
    await paused.commands.run('echo kept >/tmp/note')
    await paused.pause()
    await vi.waitFor(async () => expect(await fleet.nodeOf(paused.runtime_id)).toBeNull(), bound)
    const running = await fleet.createOn(NODE, client)
    await lab.lab('kill', NODE)
    await vi.waitFor(async () => expect(await shell(paused.runtime_id, 'cat /tmp/note')).toBe('kept'), bound)
    expect(await fleet.nodeOf(paused.runtime_id)).not.toBe(NODE)
    await page.run('out-of-service', { NODE })
    await areNow({ [NODE]: 'lost' })
    await vi.waitFor(async () => {
      const { state, state_reason } = await client.runtimes.get(running.runtime_id)
      expect([state, state_reason?.code]).toEqual(['failed', 'host_lost'])
    }, bound)
    await countsOn()
    await lab.lab('start', NODE)
    await lab.asked('taint', 'node', NODE, 'node.kubernetes.io/out-of-service-')
    await areNow({ node2: 'ready', node3: 'ready' })
    await (await fleet.createOn(NODE, client)).delete()
    await paused.delete()
  })

  test('the release is removed', async () => {
    await (await client.runtimes.get(hello)).delete()
    await page.run('helm -n holt uninstall')
    await vi.waitFor(async () => {
      expect(await lab.asked('-n', namespace, 'get', 'pods', '-l', 'app.kubernetes.io/name=holt', '-o', 'name')).toBe(
        '',
      )
    }, bound)
    expect(page.left).toEqual([])
  })
})
