import { type Engine, EngineError } from '@holt/engine'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import type { GuestNetwork } from '@holt/guest-client'
import { expect, test } from 'vitest'
import { finishTemplate, startCommandId } from '../../src/index.ts'
import { fakeHost } from './fake-host.ts'

const signal = () => AbortSignal.timeout(20_000)
const network: GuestNetwork = {
  resolver: '198.18.0.1',
  address: '198.18.0.2',
  mtu: 65_000,
  tun: 'create',
  ca_certificates: [],
}

/** Looks into a runtime at the moment in which its checkpoint is taken. */
function lookingAtCheckpoints(look: (engine: FakeEngine, id: string) => void | Promise<void>) {
  return (engine: FakeEngine): Engine => {
    const checkpoints = engine.ability('checkpoints')
    if (checkpoints === null) throw new Error('no checkpoints')
    const take: typeof checkpoints.take = async (id, ...rest) => {
      await look(engine, id)
      return checkpoints.take(id, ...rest)
    }
    return withAbility(engine, { ...checkpoints, take })
  }
}

function withAbility(engine: FakeEngine, checkpoints: object): Engine {
  const ability = (name: 'images' | 'checkpoints' | 'egress') =>
    name === 'checkpoints' ? checkpoints : engine.ability(name)
  return new Proxy(engine, {
    get: (target, key) => {
      if (key === 'ability') return ability
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('the checkpoint of a template is of a runtime of its size', async () => {
  const { host, finishing, made, released, statuses } = await fakeHost()
  const { checkpoint } = await finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'true' }), host, signal())
  expect(checkpoint).toMatchObject({ isolation: 'gvisor', cpu: 2, memoryMiB: 512 })
  expect(statuses).toEqual(['snapshotting'])
  expect(new Set(released)).toEqual(new Set(made))
})

test.each(['gvisor', 'container'] as const)(
  'a template without a start command boots nothing in %s',
  async (isolation) => {
    const { host, engine, finishing, made, statuses } = await fakeHost({ isolation })
    expect(await finishTemplate(finishing(), host, signal())).toEqual({ checkpoint: null })
    expect([made, statuses, await engine.ability('checkpoints')?.list()]).toEqual([[], [], []])
  },
)

test('a class without checkpoints tests the start command', async () => {
  const { host, finishing, made, released } = await fakeHost({ isolation: 'container' })
  const good = finishing({ startCmd: 'sleep', readyCmd: 'true' })
  expect(await finishTemplate(good, host, signal())).toEqual({ checkpoint: null })
  const bad = finishing({ startCmd: 'exit 4', readyCmd: 'false' })
  await expect(finishTemplate(bad, host, signal())).rejects.toMatchObject({ code: 'start_cmd_failed' })
  expect([made.length, released]).toEqual([2, made])
})

test('the checkpoint is of a runtime without a project, with the start command and the settings of the template', async () => {
  const seen: unknown[] = []
  const wrap = lookingAtCheckpoints((engine, id) => {
    const guest = engine.guest(id)
    if (guest === null) throw new Error('no guest')
    const { processes } = guest.processes.list().json as {
      processes: { id: string; user: string; cwd: string; state: string }[]
    }
    seen.push(
      guest.identity,
      processes.map(({ id, user, cwd, state }) => ({ id, user, cwd, state })),
      guest.network,
    )
  })
  const { host, finishing, lines, made } = await fakeHost({ wrap, network })
  const { checkpoint } = await finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'true' }), host, signal())
  expect(checkpoint).not.toBeNull()
  // The tries of the ready command are forgotten, and the network is closed.
  expect(seen).toEqual([null, [{ id: startCommandId, user: 'app', cwd: '/srv', state: 'running' }], null])
  expect(lines).toEqual([])
  expect(made).toHaveLength(2)
})

test('the output of the start command is in the log, line by line', async () => {
  const { host, finishing, lines } = await fakeHost()
  await finishTemplate(finishing({ startCmd: 'echo one two' }), host, signal())
  expect(lines).toEqual(['one two'])
})

test('an application that cannot be saved with its network is started again without it', async () => {
  let takes = 0
  const wrap = lookingAtCheckpoints(() => {
    takes += 1
    if (takes === 1) throw new EngineError('failed', 'the kernel refuses')
  })
  const { host, finishing, lines, made, released } = await fakeHost({ wrap, network })
  const { checkpoint } = await finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'true' }), host, signal())
  expect(checkpoint).not.toBeNull()
  expect(lines).toEqual([expect.stringMatching(/started again without the network/)])
  expect(takes).toBe(2)
  expect(new Set(released)).toEqual(new Set(made))
})

test('a checkpoint that cannot be restored is removed', async () => {
  const wrap = (engine: FakeEngine) => {
    const checkpoints = engine.ability('checkpoints')
    if (checkpoints === null) throw new Error('no checkpoints')
    // The returned checkpoint does not exist, so a runtime of the template boots.
    const take: typeof checkpoints.take = async (id, checkpointId, ...rest) => {
      const info = await checkpoints.take(id, checkpointId, ...rest)
      await checkpoints.remove(checkpointId)
      return info
    }
    return withAbility(engine, { ...checkpoints, take })
  }
  const { host, engine, finishing, lines, made, released } = await fakeHost({ wrap })
  const done = await finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'true' }), host, signal())
  expect(done).toEqual({ checkpoint: null })
  expect(lines).toEqual([expect.stringMatching(/Each runtime runs start_cmd when it starts/)])
  expect(await engine.ability('checkpoints')?.list()).toEqual([])
  expect(new Set(released)).toEqual(new Set(made))
})

test('a lack of room in the engine is not a failure of the start command', async () => {
  const wrap = lookingAtCheckpoints(() => {
    throw new EngineError('no_space', 'the disk is full')
  })
  const { host, finishing, made, released } = await fakeHost({ wrap, network })
  const finished = finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'true' }), host, signal())
  await expect(finished).rejects.toMatchObject({ kind: 'no_space' })
  expect(released).toEqual(made)
})

test('an application that exhausts the memory of its runtime is reported as such', async () => {
  const { host, engine, finishing, made } = await fakeHost()
  const finished = finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'sleep' }), host, signal())
  const ended = expect(finished).rejects.toMatchObject({
    code: 'start_cmd_failed',
    message: expect.stringMatching(/more than the 512 MiB/),
  })
  await expect.poll(() => engine.guest(made[0] ?? '')?.processes.size).toBe(2)
  engine.end(made[0] ?? '', { reason: 'out_of_memory', message: 'killed' })
  await ended
})

test('a cancelled build ends with its reason, and releases its runtime', async () => {
  const { host, finishing, made, released, engine } = await fakeHost()
  const cancel = new AbortController()
  const finished = finishTemplate(finishing({ startCmd: 'sleep', readyCmd: 'false' }), host, cancel.signal)
  const ended = expect(finished).rejects.toThrow('cancelled')
  await expect.poll(() => engine.guest(made[0] ?? '')?.processes.size).toBeGreaterThan(0)
  cancel.abort(new Error('cancelled'))
  await ended
  expect(released).toEqual(made)
})
