import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { busybox, type Lab, lacksLab, startLab } from './support/lab.ts'
import { bound, LabFleet, namespace, prepare, valuesFile } from './support/lab-fleet.ts'
import { type LabRegistry, startLabRegistry } from './support/registry.ts'

// The tests are one story: each continues where the one before it ended.
describe.skipIf(lacksLab() !== '')(`a fleet in a cluster of two Nodes${lacksLab()}`, () => {
  let lab: Lab
  let registry: LabRegistry
  let fleet: LabFleet
  let release: readonly string[]
  /** A runtime on node2, with a process that counts. */
  let counting: string
  /** A runtime on node2 that runs when its power is cut. */
  let running: string

  beforeAll(async () => {
    lab = await startLab()
    registry = await startLabRegistry(lab.hostAddress, busybox)
    fleet = new LabFleet(lab)
    await prepare(lab, registry)
    release = await valuesFile(lab, registry)
  })

  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]()
    await lab?.[Symbol.asyncDispose]()
  })

  /** Returns the names of the guards and of their budgets. */
  const guards = async () => {
    const select = ['-l', 'app.kubernetes.io/component=guard', '-o', 'name']
    return (await lab.asked('-n', namespace, 'get', 'pods,pdb', ...select)).trim().split('\n').filter(Boolean)
  }

  /** Waits until the hosts have these states, as the host of node1 says. */
  const areNow = (states: Readonly<Record<string, string>>) =>
    vi.waitFor(async () => expect(await fleet.states('node1')).toEqual(states), bound)

  test('the API server accepts every object of the chart', async () => {
    const rendered = await lab.helm(
      'template',
      ...release.toReversed().slice(0, 2).toReversed(),
      ...release.slice(0, 4),
    )
    expect(rendered.code).toBe(0)
    await lab.dryRun(rendered.out)
  })

  test('the chart installs a host on each Node with the label', async () => {
    await lab.asked('label', 'node', 'node2', 'holt.dev/host=true')
    const { code, out } = await lab.helm('install', '--wait', '--timeout', '240s', ...release)
    expect([code, out]).toEqual([0, expect.stringContaining('STATUS: deployed')])
    await fleet.ready('node2')
    await lab.asked('label', 'node', 'node1', 'holt.dev/host=true')
    await vi.waitUntil(async () => (await fleet.pod('node1').catch(() => null)) !== null, bound)
    await fleet.ready('node1')
  })

  test('a runtime on a Node runs commands, also through the other host', async () => {
    const runtime = await fleet.createOn('node2')
    counting = runtime.runtime_id
    const count = 'echo $$ >/tmp/pid; i=0; while :; do i=$((i+1)); echo $i >/tmp/count; sleep 0.2; done'
    await (await fleet.runtime('node2', counting)).commands.start(count)
    await vi.waitUntil(async () => Number(await fleet.shell('node1', counting, 'cat /tmp/count')) > 2, bound)
  })

  test('the service account can do what it needs, and nothing else', async () => {
    const as = ['--as', `system:serviceaccount:${namespace}:fleet`]
    const can = async (...what: string[]) =>
      /^(?:yes|no)$/m.exec((await lab.kubectl('auth', 'can-i', ...what, ...as)).out)?.[0]
    expect(await can('get', 'nodes')).toBe('yes')
    expect(await can('create', 'pods', '-n', namespace)).toBe('yes')
    const forbidden = [
      ['get', 'secrets'],
      ['create', 'pods', '--subresource=exec'],
      ['patch', 'nodes'],
      ['get', 'pods'],
    ]
    for (const what of forbidden) expect([what, await can(...what, '-n', namespace)]).toEqual([what, 'no'])
    expect(await can('create', 'pods', '-n', 'default')).toBe('no')
  })

  test('helm test checks both machines', async () => {
    const { code, out } = await lab.helm('test', 'fleet', '--namespace', namespace, '--timeout', '240s')
    const logs = await lab.kubectl('-n', namespace, 'logs', 'job/fleet-preflight')
    expect([code, out], logs.out).toEqual([0, expect.stringContaining('Succeeded')])
  })

  test('a rollout ends no runtime', async () => {
    const { name } = await fleet.pod('node2')
    const before = await fleet.shell('node2', counting, 'cat /tmp/pid /tmp/count')
    const { code, out } = await lab.helm(
      'upgrade',
      '--wait',
      '--timeout',
      '240s',
      ...release,
      '--set-string',
      'podAnnotations.try=2',
    )
    expect([code, out]).toEqual([0, expect.stringContaining('STATUS: deployed')])
    await vi.waitUntil(async () => (await fleet.pod('node2')).name !== name, bound)
    await fleet.ready('node2')
    const [pid, count] = before.split('\n')
    expect((await fleet.runtime('node2', counting)).state).toBe('running')
    await fleet.shell('node2', counting, `kill -0 ${pid}`)
    const later = await fleet.shell('node1', counting, 'cat /tmp/count')
    expect(Number(later)).toBeGreaterThan(Number(count))
  })

  test('a kill of the service ends no runtime', async () => {
    const { name } = await fleet.pod('node2')
    await lab.asked('-n', namespace, 'delete', 'pod', name, '--grace-period=0', '--force')
    await vi.waitUntil(async () => (await fleet.pod('node2').catch(() => ({ name }))).name !== name, bound)
    await fleet.ready('node2')
    const count = Number(await fleet.shell('node2', counting, 'cat /tmp/count'))
    await vi.waitUntil(async () => Number(await fleet.shell('node2', counting, 'cat /tmp/count')) > count, bound)
  })

  test('kubectl drain waits for the runtimes of a host, and then goes through', async () => {
    await vi.waitFor(async () => expect(await guards()).toHaveLength(2), bound)
    const drain = ['drain', 'node2', '--ignore-daemonsets', '--delete-emptydir-data']
    const refused = await lab.kubectl(...drain, '--timeout=15s')
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining("violate the pod's disruption budget")])
    await areNow({ node1: 'ready', node2: 'cordoned' })
    const waiting = spawn(join(lab.env.KUBEBUILDER_ASSETS ?? '', 'kubectl'), [...drain, '--timeout=240s'], {
      env: { ...process.env, ...lab.env },
      stdio: 'ignore',
    })
    const ended = once(waiting, 'exit')
    await (await fleet.runtime('node1', counting)).delete()
    expect(await ended).toEqual([0, null])
    expect(await guards()).toEqual([])
    await lab.asked('uncordon', 'node2')
    await areNow({ node1: 'ready', node2: 'ready' })
  })

  test('with drainOnCordon a drain of a Node moves its runtimes, and goes through', async () => {
    const upgrade = await lab.helm('upgrade', '--wait', '--timeout', '240s', ...release, '--set', 'drainOnCordon=true')
    expect([upgrade.code, upgrade.out]).toEqual([0, expect.stringContaining('STATUS: deployed')])
    for (const node of ['node1', 'node2']) await fleet.ready(node)
    const { runtime_id } = await fleet.createOn('node2')
    await fleet.shell('node2', runtime_id, 'echo kept >/tmp/note')
    await vi.waitFor(async () => expect(await guards()).toContain('pod/holt-guard-node2'), bound)
    const drained = await lab.kubectl('drain', 'node2', '--ignore-daemonsets', '--timeout=240s')
    expect([drained.code, drained.out]).toEqual([0, expect.stringContaining('node/node2 drained')])
    expect(await fleet.nodeOf(runtime_id)).not.toBe('node2')
    await lab.asked('uncordon', 'node2')
    await areNow({ node1: 'ready', node2: 'ready' })
    expect(await fleet.shell('node2', runtime_id, 'cat /tmp/note')).toBe('kept')
    await (await fleet.runtime('node2', runtime_id)).delete()
  })

  test('a paused runtime resumes on the other Node after a power cut', async () => {
    const paused = await fleet.createOn('node2')
    running = (await fleet.createOn('node2')).runtime_id
    const id = paused.runtime_id
    await fleet.shell('node2', id, 'echo kept >/tmp/note')
    await paused.pause()
    await vi.waitFor(async () => expect(await fleet.nodeOf(id)).toBeNull(), bound)
    await lab.lab('kill', 'node2')
    await vi.waitFor(async () => expect(await fleet.shell('node1', id, 'cat /tmp/note')).toBe('kept'), bound)
    await (await fleet.runtime('node1', id)).delete()
  })

  test('a Node without power is lost when an administrator says so, and comes back', async () => {
    await lab.asked('taint', 'node', 'node2', 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute')
    await areNow({ node1: 'ready', node2: 'lost' })
    await vi.waitFor(async () => {
      const { state, state_reason } = await fleet.runtime('node1', running)
      expect([state, state_reason?.code]).toEqual(['failed', 'host_lost'])
    }, bound)
    await lab.lab('start', 'node2')
    await lab.asked('taint', 'node', 'node2', 'node.kubernetes.io/out-of-service-')
    await areNow({ node1: 'ready', node2: 'ready' })
    await (await fleet.create('node2')).delete()
  })
})
