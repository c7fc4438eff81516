import { type CreateRuntimeInput, Runtime } from '@holt/protocol'
import { expect } from 'vitest'
import { type Answer, call, runtimesPath, success } from '../../e2e/support/api.ts'
import { attemptAll, https, rigAuthority, trustRig } from '../../e2e/support/egress-probe.ts'
import { buildsPath, endOf, templatesPath } from '../../e2e/support/test-build.ts'
import { createRuntime, TestRuntime } from '../../e2e/support/test-runtime.ts'
import { callSnapshot, deleteSnapshots, snapshotsPath } from '../../e2e/support/test-snapshots.ts'
import { until } from '../../e2e/support/until.ts'
import { every } from './length.ts'
import { pulledBuild } from './pulled-build.ts'

/** A task for the service, which fails once at each of its steps. */
export interface Scenario {
  readonly name: string
  prepare(): Promise<Subject>
}

/** One run of a scenario. */
export interface Subject {
  /** Sends the request. The same key repeats the same request. */
  act(key: string): Promise<Answer>
  /** Waits for work that continues after the answer. */
  over?(): Promise<unknown>
  /** Checks that the work had its effect, if nothing failed. */
  succeeded?(): Promise<void>
  /** Checks the state after the repeated request against its answer, and removes it. */
  check(again: Answer): Promise<void>
}

const keyed = (key: string) => ({ 'idempotency-key': key })

/** Creates a runtime with a file that must survive everything. */
async function withFile(isolation: 'gvisor' | 'container' = 'gvisor'): Promise<TestRuntime> {
  const runtime = await createRuntime({ isolation })
  await runtime.sh('echo kept > /srv/kept; sync')
  return runtime
}

async function expectKept(runtime: TestRuntime): Promise<void> {
  expect(await runtime.sh('cat /srv/kept')).toBe('kept')
}

/** Returns the ids in a list that have one of these states. */
async function idsOf(path: string, id: string, states: readonly string[]): Promise<string[]> {
  const { data } = JSON.parse((await call('GET', path)).text) as { data: Record<string, string>[] }
  return data.flatMap((one) => (states.includes(one.state ?? '') ? (one[id] ?? '') : []))
}

/** A create. Its metadata, which `json` lacks, distinguishes it from others. */
function creating(json: object) {
  const of = crypto.randomUUID()
  return {
    json: { ...json, metadata: { case: of } },
    act(key: string): Promise<Answer> {
      return call('POST', runtimesPath, { json: this.json, headers: keyed(key) })
    },
    /** Checks the running runtime against the answer, and removes it. */
    async check(again: Answer, look: (runtime: TestRuntime) => Promise<void> = async () => {}): Promise<void> {
      const running = await idsOf(`${runtimesPath}?metadata.case=${of}`, 'runtime_id', ['running'])
      expect(running).toEqual(again.status === 201 ? [JSON.parse(again.text).runtime_id] : [])
      for (const id of running) {
        const runtime = new TestRuntime(success(await call('GET', `${runtimesPath}/${id}`), 200, Runtime))
        await look(runtime)
        await runtime.delete()
      }
    },
  }
}

const create = (isolation: 'gvisor' | 'container'): Scenario => ({
  name: `create ${isolation}`,
  prepare: async () => {
    const made = creating({ isolation })
    return {
      act: (key) => made.act(key),
      check: async (again) => {
        await made.check(again)
        await using runtime = await createRuntime(made.json)
        expect((await runtime.run('echo works')).stdout).toBe('works\n')
      },
    }
  },
})

const createFrom = (kind: 'memory' | 'filesystem'): Scenario => ({
  name: `create from a ${kind} snapshot`,
  prepare: async () => {
    const source = await withFile()
    const { snapshot_id } = await source.snapshot({ kind })
    await source.delete()
    const made = creating({ snapshot: snapshot_id })
    return {
      act: (key) => made.act(key),
      check: async (again) => {
        await made.check(again, expectKept)
        await using runtime = await createRuntime({ snapshot: snapshot_id })
        await expectKept(runtime)
        await deleteSnapshots(snapshot_id)
      },
    }
  },
})

const remove = (isolation: 'gvisor' | 'container'): Scenario => ({
  name: `delete ${isolation}`,
  prepare: async () => {
    const runtime = await withFile(isolation)
    return {
      act: () => call('DELETE', runtime.path),
      check: async (again) => {
        expect(again.status, again.text).toBe(204)
        expect((await runtime.refresh()).state).toBe('terminated')
      },
    }
  },
})

const command: Scenario = {
  name: 'command',
  prepare: async () => {
    const runtime = await withFile()
    const json = { command: 'echo once >> /srv/ran; cat /srv/ran', user: 'root' }
    return {
      act: (key) => runtime.call('POST', '/commands', { json, headers: keyed(key) }),
      check: async (again) => {
        expect(JSON.parse(again.text), again.text).toMatchObject({ exit_code: 0, stdout: 'once\n' })
        expect(await runtime.sh('cat /srv/ran')).toBe('once')
        await runtime.delete()
      },
    }
  },
}

const pause: Scenario = {
  name: 'pause',
  prepare: async () => {
    const runtime = await withFile()
    return {
      act: () => runtime.call('POST', '/pause'),
      check: async (again) => {
        expect(JSON.parse(again.text).state, again.text).toBe('paused')
        await expectKept(runtime)
        await runtime.delete()
      },
    }
  },
}

const resume: Scenario = {
  name: 'resume',
  prepare: async () => {
    const runtime = await withFile()
    await runtime.pause()
    return {
      act: () => runtime.call('POST', '/resume'),
      check: async (again) => {
        expect(JSON.parse(again.text).state, again.text).toBe('running')
        await expectKept(runtime)
        await runtime.delete()
      },
    }
  },
}

const snapshot = (kind: 'memory' | 'filesystem'): Scenario => ({
  name: `snapshot ${kind}`,
  prepare: async () => {
    const runtime = await withFile()
    return {
      act: (key) => runtime.call('POST', '/snapshot', { json: { kind }, headers: keyed(key) }),
      check: async (again) => {
        await expectKept(runtime)
        const ready = await idsOf(snapshotsPath, 'snapshot_id', ['ready'])
        expect(ready).toEqual(again.status === 201 ? [JSON.parse(again.text).snapshot_id] : [])
        for (const one of ready) {
          await using made = await createRuntime({ snapshot: one })
          await expectKept(made)
        }
        for (const one of await idsOf(snapshotsPath, 'snapshot_id', ['ready', 'failed']))
          await callSnapshot('DELETE', one)
        await runtime.delete()
      },
    }
  },
})

const fork: Scenario = {
  name: 'fork',
  prepare: async () => {
    const runtime = await withFile()
    return {
      act: (key) => runtime.call('POST', '/fork', { json: { count: 2 }, headers: keyed(key) }),
      check: async (again) => {
        await expectKept(runtime)
        const running = await idsOf(`${runtimesPath}?limit=100`, 'runtime_id', ['running'])
        const results =
          again.status === 201 ? (JSON.parse(again.text).data as { runtime: { runtime_id: string } | null }[]) : []
        const told = results.flatMap((one) => one.runtime?.runtime_id ?? [])
        expect(running.filter((id) => id !== runtime.id).sort()).toEqual(told.sort())
        for (const id of running) expect((await call('DELETE', `${runtimesPath}/${id}`)).status).toBe(204)
      },
    }
  },
}

const build: Scenario = {
  name: 'build',
  prepare: async () => {
    const name = `t-${crypto.randomUUID()}`
    const json = { name, from_template: 'base-small', steps: [{ run: `echo ${name} > /workspace/built` }] }
    const mine = async () => {
      const { data } = JSON.parse((await call('GET', buildsPath, { query: { limit: 100 } })).text) as {
        data: { name: string; build_id: string; status: string }[]
      }
      return data.filter((one) => one.name === name)
    }
    return {
      act: (key) => call('POST', buildsPath, { json, headers: keyed(key) }),
      over: async () => {
        for (const { build_id } of await mine()) await endOf(build_id)
      },
      succeeded: async () => expect((await mine()).map(({ status }) => status)).toEqual(['ready']),
      check: async () => {
        if ((await mine()).some(({ status }) => status === 'ready')) {
          await using runtime = await createRuntime({ template: name })
          expect(await runtime.sh('cat /workspace/built')).toBe(name)
        }
        await until('the template is gone', async () =>
          [204, 404].includes((await call('DELETE', `${templatesPath}/${name}`)).status),
        )
      },
    }
  },
}

const policiesPath = '/v1/agents/network-policy'

const hosts = { before: 'api.example.com', after: 'other.example.com' }

/** Returns a policy with one host. */
const allowing = (host: string) => ({ allow: [{ host }] })

/** Expects that programs inside reach one host and not the other. */
async function expectReach(runtime: TestRuntime, { yes, no }: { readonly yes: string; readonly no: string }) {
  const [reached, refused] = await attemptAll(runtime, [https(yes), https(no)])
  expect(reached).toMatchObject({ end: 'end', issuer: rigAuthority })
  expect(refused?.end).toBe('no name')
}

/** Creates a runtime that reaches the first host. */
async function withNetwork(network_policy: CreateRuntimeInput['network_policy']): Promise<TestRuntime> {
  const runtime = await createRuntime({ isolation: 'gvisor', network_policy })
  await trustRig(runtime)
  await expectReach(runtime, { yes: hosts.before, no: hosts.after })
  return runtime
}

const network: Scenario = {
  name: "change of a runtime's network",
  prepare: async () => {
    const runtime = await withNetwork(allowing(hosts.before))
    return {
      act: () => runtime.call('PUT', '/network', { json: { network_policy: allowing(hosts.after) } }),
      check: async (again) => {
        expect(again.status, again.text).toBe(200)
        await expectReach(runtime, { yes: hosts.after, no: hosts.before })
        await runtime.delete()
      },
    }
  },
}

const policy: Scenario = {
  name: 'change of a policy',
  prepare: async () => {
    const name = `p-${crypto.randomUUID()}`
    const path = `${policiesPath}/${name}`
    const answer = await call('POST', policiesPath, { json: { name, ...allowing(hosts.before) } })
    expect(answer.status, answer.text).toBe(201)
    const runtime = await withNetwork(name)
    return {
      act: () => call('PUT', path, { json: allowing(hosts.after) }),
      check: async (again) => {
        expect(again.status, again.text).toBe(200)
        await expectReach(runtime, { yes: hosts.after, no: hosts.before })
        await runtime.delete()
        expect((await call('DELETE', path)).status).toBe(204)
      },
    }
  },
}

/** All scenarios. Those in the class `container` are only here if they differ. */
export const scenarios: readonly Scenario[] = [
  create('gvisor'),
  create('container'),
  createFrom('memory'),
  // Its preparation writes an image for each failure.
  ...(every ? [createFrom('filesystem')] : []),
  remove('gvisor'),
  remove('container'),
  command,
  pause,
  resume,
  snapshot('memory'),
  snapshot('filesystem'),
  fork,
  build,
  // Its preparation pushes an image to a registry for each failure.
  ...(every ? [pulledBuild] : []),
  network,
  policy,
]
