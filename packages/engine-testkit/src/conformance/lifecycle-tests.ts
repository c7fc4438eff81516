import type { Checkpoints, Disks, Freezer } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { expect } from 'vitest'
import { bound, connect, kindOf, process, type Steps } from './steps.ts'

/** The time for which a frozen runtime is asked without an answer, in milliseconds. */
const SILENCE_MS = 300

/** The conformance tests of frozen runtimes, growing disks and checkpoints. */
export const lifecycleTests = {
  'lets a runtime stand still and go on where it was': async (steps) => {
    const { engine, spec, signal } = steps
    const freezer = freezerOf(steps)
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const started = process(['cat'])
    await guest.processes.start({ ...started, stdin: 'pipe' }, signal())
    await freezer.freeze(wanted.id)
    await freezer.freeze(wanted.id)
    expect(await engine.inspect(wanted.id)).toMatchObject({ state: 'running', frozen: true })
    await expect(guest.info(AbortSignal.timeout(SILENCE_MS))).rejects.toThrow()
    const waiting = guest.info(signal())
    await freezer.thaw(wanted.id)
    await freezer.thaw(wanted.id)
    expect((await waiting).runtime_id).toBe(wanted.id)
    expect(await engine.inspect(wanted.id)).toMatchObject({ state: 'running', frozen: false })
    expect((await guest.processes.get(started.id, signal())).state).toBe('running')
    expect(await kindOf(freezer.freeze(makeId('runtime')))).toBe('not_found')
    expect(await kindOf(freezer.thaw(makeId('runtime')))).toBe('not_found')
  },
  'finds a runtime that stands still after a restart, and removes it': async (steps) => {
    const { engine, spec, signal, reopen } = steps
    const [thawed, removed] = [spec(), spec()]
    await Promise.all([bound(engine, thawed, signal), bound(engine, removed, signal)])
    for (const { id } of [thawed, removed]) await freezerOf(steps).freeze(id)
    await engine.close()
    const next = await reopen()
    expect(await next.inspect(thawed.id)).toMatchObject({ state: 'running', frozen: true })
    await freezerOf({ ...steps, engine: next }).thaw(thawed.id)
    expect((await (await connect(next, thawed.id, signal())).info(signal())).runtime_id).toBe(thawed.id)
    await next.remove(removed.id, signal())
    expect(await next.inspect(removed.id)).toBeNull()
  },
  'writes nothing down that stands still': async (steps) => {
    const { engine, spec, signal } = steps
    const checkpoints = await checkpointsOf(steps)
    if (checkpoints === null) return
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    await freezerOf(steps).freeze(wanted.id)
    expect(await kindOf(checkpoints.take(wanted.id, `cp${wanted.id}`, signal()))).toBe('conflict')
    await freezerOf(steps).thaw(wanted.id)
    expect((await guest.info(signal())).runtime_id).toBe(wanted.id)
  },
  'makes a disk larger, and never smaller': async (steps) => {
    const { engine, spec, signal, reopen } = steps
    const disks = disksOf(steps)
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    await write(guest, 'before', signal)
    const diskMiB = wanted.diskMiB * 2
    await disks.grow(wanted.id, wanted.diskMiB, signal())
    if (!disks.canGrow) {
      expect(await kindOf(disks.grow(wanted.id, diskMiB, signal()))).toBe('not_supported')
      expect(await engine.inspect(wanted.id)).toMatchObject({ spec: { diskMiB: wanted.diskMiB } })
      return
    }
    await disks.grow(wanted.id, diskMiB, signal())
    await disks.grow(wanted.id, diskMiB, signal())
    expect(await read(guest, signal)).toBe('before')
    expect(await kindOf(disks.grow(wanted.id, wanted.diskMiB, signal()))).toBe('invalid')
    expect(await kindOf(disks.grow(makeId('runtime'), diskMiB, signal()))).toBe('not_found')
    await engine.ensure({ ...wanted, diskMiB }, signal())
    expect(await kindOf(engine.ensure(wanted, signal()))).toBe('conflict')
    await engine.close()
    expect(await (await reopen()).inspect(wanted.id)).toMatchObject({ spec: { diskMiB } })
  },
  'writes down a runtime that goes on': async (steps) => {
    const { engine, spec, signal } = steps
    const checkpoints = await checkpointsOf(steps)
    if (checkpoints === null) return
    const source = spec()
    const guest = await bound(engine, source, signal)
    await write(guest, 'before', signal)
    await guest.quiesce(signal())
    const running = Promise.withResolvers<void>()
    const options = { leaveRunning: true, onRunning: running.resolve }
    const taking = checkpoints.take(source.id, `cp${source.id}`, signal(), options)
    await Promise.race([
      running.promise,
      taking.then(() => Promise.reject(new Error('it did not say that it goes on'))),
    ])
    const { checkpointId } = await taking
    expect(await checkpoints.take(source.id, checkpointId, signal(), { leaveRunning: true })).toEqual(await taking)
    expect(await kindOf(checkpoints.take(source.id, checkpointId, signal()))).toBe('conflict')
    expect(await engine.inspect(source.id)).toMatchObject({ state: 'running' })
    const after = await connect(engine, source.id, signal())
    expect(await read(after, signal)).toBe('before')
    await write(after, 'after', signal)
    const clone = { ...spec(), checkpointId }
    await engine.ensure(clone, signal())
    expect(await read(await connect(engine, clone.id, signal()), signal)).toBe('before')
    expect(await read(after, signal)).toBe('after')
    await checkpoints.remove(checkpointId)
  },
  'ends a runtime that is written down, and has it go on under the same id, on a larger disk': async (steps) => {
    const { engine, spec, signal } = steps
    const checkpoints = await checkpointsOf(steps)
    if (checkpoints === null) return
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const started = process(['cat'])
    await guest.processes.start({ ...started, stdin: 'pipe' }, signal())
    await write(guest, 'before', signal)
    await guest.quiesce(signal(), { force: true })
    const { checkpointId } = await checkpoints.take(wanted.id, `cp${wanted.id}`, signal())
    expect(await engine.inspect(wanted.id)).toBeNull()
    const again = { ...wanted, diskMiB: wanted.diskMiB * 2, checkpointId, restoreOnly: true }
    await engine.ensure(again, signal())
    expect(await engine.inspect(wanted.id)).toMatchObject({ state: 'running', restored: true, frozen: false })
    const restored = await connect(engine, wanted.id, signal())
    expect(await read(restored, signal)).toBe('before')
    await restored.processes.writeStdin(started.id, { data: Buffer.from('on\n'), offset: 0, eof: true }, signal())
    await expect.poll(async () => (await restored.processes.get(started.id, signal())).exit_code).toBe(0)
    expect((await restored.processes.get(started.id, signal())).stdout_bytes).toBe(3)
    await checkpoints.remove(checkpointId)
  },
  'does not boot what is only to be restored': async (steps) => {
    const { engine, spec, signal } = steps
    const wanted = { ...spec(), restoreOnly: true }
    expect(['damaged', 'incompatible']).toContain(
      await kindOf(engine.ensure({ ...wanted, checkpointId: `cp${wanted.id}` }, signal())),
    )
    expect(await engine.inspect(wanted.id)).toBeNull()
    const checkpoints = await checkpointsOf(steps)
    if (checkpoints === null) return
    const source = spec()
    await (await bound(engine, source, signal)).quiesce(signal())
    const { checkpointId } = await checkpoints.take(source.id, `cp${source.id}`, signal())
    for (const change of [{ memoryMiB: wanted.memoryMiB + 64 }, { diskMiB: wanted.diskMiB / 2 }]) {
      expect(await kindOf(engine.ensure({ ...wanted, checkpointId, ...change }, signal()))).toBe('incompatible')
      expect(await engine.inspect(wanted.id)).toBeNull()
    }
    await engine.ensure({ ...wanted, checkpointId }, signal())
    await checkpoints.remove(checkpointId)
    expect(await checkpoints.usable(checkpointId)).toMatchObject({ usable: false, problem: 'absent' })
  },
} satisfies Record<string, (steps: Steps) => Promise<void>>

function freezerOf({ engine }: Pick<Steps, 'engine'>): Freezer {
  const freezer = engine.ability('freezer')
  if (freezer === null) throw new Error('no freezer')
  return freezer
}

function disksOf({ engine }: Pick<Steps, 'engine'>): Disks {
  const disks = engine.ability('disks')
  if (disks === null) throw new Error('no disks')
  return disks
}

/** Returns the checkpoints of the class under test; null if it has none. */
async function checkpointsOf({ engine, subject }: Pick<Steps, 'engine' | 'subject'>): Promise<Checkpoints | null> {
  const facts = (await engine.describe()).isolation[subject.isolation]
  return facts.available && facts.canCheckpoint ? engine.ability('checkpoints') : null
}

async function write(guest: GuestClient, text: string, signal: () => AbortSignal): Promise<void> {
  await guest.content.write({ path: '/tmp/data', body: Buffer.from(text), createOnly: false }, signal())
}

async function read(guest: GuestClient, signal: () => AbortSignal): Promise<string> {
  const { body } = await guest.content.read({ path: '/tmp/data', range: null }, signal())
  return String(Buffer.concat(await Array.fromAsync(body)))
}
