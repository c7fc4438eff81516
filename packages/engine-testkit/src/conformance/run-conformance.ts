import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Engine, ImageDigest, Isolation, RuntimeId, RuntimeSpec } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { egressTests } from './egress-tests.ts'
import { homeTests } from './home-tests.ts'
import { imageTests } from './image-tests.ts'
import { lifecycleTests } from './lifecycle-tests.ts'
import { bindRequest, bound, collect, connect, kindOf, nextObservation, process, type Steps } from './steps.ts'
import { transferTests } from './transfer-tests.ts'

/** One engine under test. */
export interface ConformanceSubject {
  readonly name: string
  readonly isolation: Isolation
  /**
   * Opens the engine over the same state each time. A second call after `close` is a restart of the
   * daemon.
   */
  open(): Promise<Engine>
  /** Opens another engine, as on another host of the same class. Called once. */
  openOther(): Promise<Engine>
  /** Dials the runtime's egress socket, as its guest would. Rejects if nothing listens. */
  dialEgress(engine: Engine, id: RuntimeId): Promise<Duplex>
  /** Returns an image that has `true`, `echo` and `cat` in `/bin`, as tar. */
  imageTar(): AsyncIterable<Uint8Array>
  readonly size: Pick<RuntimeSpec, 'cpu' | 'memoryMiB' | 'diskMiB'>
  /** The tests that cannot pass for this engine, each with its reason. */
  readonly skip?: readonly { readonly test: ConformanceTest; readonly reason: string }[]
  /** The longest time that one verb may take, in milliseconds. */
  readonly verbTimeoutMs: number
}

const tests = {
  'describes its class as available': async ({ engine, subject }) => {
    const facts = await engine.describe()
    expect(facts.isolation[subject.isolation].available).toBe(true)
    expect(facts.cpus).toBeGreaterThan(0)
    expect(facts.startsAtOnce).toBeGreaterThan(1)
    expect(facts.memoryMiB).toBeGreaterThan(0)
  },
  'makes a runtime, and making it again with the same spec does nothing': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    await engine.ensure(wanted, signal())
    expect(await engine.inspect(wanted.id)).toMatchObject({
      id: wanted.id,
      state: 'running',
      spec: wanted,
      ending: null,
    })
  },
  'makes a runtime once when asked twice at the same time': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await Promise.all([engine.ensure(wanted, signal()), engine.ensure(wanted, signal())])
    expect((await engine.inspect(wanted.id))?.state).toBe('running')
  },
  'refuses another spec for the same id': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    expect(await kindOf(engine.ensure({ ...wanted, memoryMiB: wanted.memoryMiB + 64 }, signal()))).toBe('conflict')
  },
  'refuses an image it does not have': async ({ engine, spec, signal }) => {
    const unknown: ImageDigest = `sha256:${'0'.repeat(64)}`
    expect(await kindOf(engine.ensure({ ...spec(), imageDigest: unknown }, signal()))).toBe('not_found')
  },
  'binds a guest once: the same identity again is success, another is refused': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    const guest = await connect(engine, wanted.id, signal())
    await guest.bind(bindRequest(wanted.id), signal())
    await guest.bind(bindRequest(wanted.id), signal())
    expect((await guest.info(signal())).runtime_id).toBe(wanted.id)
    await expect(guest.bind(bindRequest(makeId('runtime')), signal())).rejects.toMatchObject({ code: 'conflict' })
  },
  'binds a guest anew when it is told to, as the same runtime or as another': async ({ engine, spec, signal }) => {
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const started = process(['cat'])
    await guest.processes.start({ ...started, stdin: 'pipe' }, signal())
    for (const id of [wanted.id, makeId('runtime')]) {
      await guest.bind({ ...bindRequest(id), renew: true }, signal())
      await guest.bind({ ...bindRequest(id), renew: true }, signal())
      expect(await guest.info(signal())).toMatchObject({ runtime_id: id, processes: 1 })
    }
    await expect(guest.bind(bindRequest(wanted.id), signal())).rejects.toMatchObject({ code: 'conflict' })
    expect((await guest.processes.get(started.id, signal())).state).toBe('running')
  },
  'does what changes something once for each operation, and again in another runtime': async ({
    engine,
    spec,
    signal,
  }) => {
    const wanted = spec()
    await bound(engine, wanted, signal)
    const link = await engine.dial(wanted.id, signal())
    const as = (name: string) => new GuestClient(link, { operation: () => name })
    const [one, other] = [as('operation-1'), as('operation-2')]
    const started = process(['cat'])
    await one.processes.start({ ...started, stdin: 'pipe' }, signal())
    const typed = { data: Buffer.from('once'), eof: false, offset: null }
    for (let time = 0; time < 2; time += 1) {
      expect((await one.processes.writeStdin(started.id, typed, signal())).written_bytes).toBe(4)
      const made = { path: '/tmp/made', parents: false, mode: null, user: null }
      expect((await one.files.makeDirectory(made, signal())).created).toBe(true)
      const moved = { source: '/tmp/made', destination: '/tmp/moved', overwrite: false }
      expect((await one.files.move(moved, signal())).path).toBe('/tmp/moved')
    }
    const copied = { source: '/tmp/made', destination: '/tmp/other', recursive: true, overwrite: false }
    await expect(other.files.copy(copied, signal())).rejects.toMatchObject({ code: 'path_not_found' })
    expect((await other.files.copy({ ...copied, source: '/tmp/moved' }, signal())).path).toBe('/tmp/other')
    await expect.poll(async () => (await one.processes.get(started.id, signal())).stdout_bytes).toBe(4)
    await other.files.remove({ path: '/tmp/other', recursive: false }, signal())
    await other.files.remove({ path: '/tmp/other', recursive: false }, signal())
    await other.bind({ ...bindRequest(wanted.id), renew: true }, signal())
    await other.files.remove({ path: '/tmp/other', recursive: false }, signal())
    await other.bind({ ...bindRequest(makeId('runtime')), renew: true }, signal())
    const again = other.files.remove({ path: '/tmp/other', recursive: false }, signal())
    await expect(again).rejects.toMatchObject({ code: 'path_not_found' })
  },
  'counts processes in the background apart from the others': async ({ engine, spec, signal }) => {
    const guest = await bound(engine, spec(), signal)
    await guest.processes.start({ ...process(['cat']), stdin: 'pipe', background: true }, signal())
    expect(await guest.info(signal())).toMatchObject({ processes: 1, foreground: 0 })
    await guest.processes.start({ ...process(['cat']), stdin: 'pipe' }, signal())
    expect(await guest.info(signal())).toMatchObject({ processes: 2, foreground: 1 })
  },
  'runs a process and tells its output and exit code': async ({ engine, spec, signal }) => {
    const guest = await bound(engine, spec(), signal)
    const items = await collect(await guest.processes.run(process(['echo', 'hello']), signal()))
    expect(items.find((item) => item.type === 'stdout')).toMatchObject({
      data: Buffer.from('hello\n').toString('base64'),
    })
    expect(items.at(-2)).toMatchObject({ type: 'exit', exit_code: 0 })
    expect(items.at(-1)).toMatchObject({ type: 'end' })
  },
  'writes a file and reads it back': async ({ engine, spec, signal }) => {
    const guest = await bound(engine, spec(), signal)
    const body = Buffer.from('one\0two')
    expect((await guest.content.write({ path: '/tmp/file', createOnly: false, body }, signal())).created).toBe(true)
    const content = await guest.content.read({ path: '/tmp/file', range: 'bytes=4-' }, signal())
    expect(Buffer.concat(await content.body.toArray()).toString()).toBe('two')
  },
  'keeps runtimes apart': async ({ engine, spec, signal }) => {
    const [one, two] = await Promise.all([bound(engine, spec(), signal), bound(engine, spec(), signal)])
    await one.content.write({ path: '/tmp/mine', createOnly: true, body: Buffer.from('1') }, signal())
    await expect(two.files.stat('/tmp/mine', signal())).rejects.toMatchObject({ code: 'path_not_found' })
  },
  'removes a runtime; again, and one that never was, is success': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    await engine.remove(wanted.id, signal())
    await engine.remove(wanted.id, signal())
    await engine.remove(makeId('runtime'), signal())
    expect(await engine.inspect(wanted.id)).toBeNull()
    expect(await kindOf(engine.dial(wanted.id, signal()))).toBe('not_found')
  },
  'observes what exists first, then changes': async ({ engine, spec, signal }) => {
    const before = spec()
    await engine.ensure(before, signal())
    const stop = new AbortController()
    const observations = engine.observe(stop.signal)[Symbol.asyncIterator]()
    const seen = await nextObservation(observations, (item) => item.type === 'listed')
    expect(seen.filter((item) => item.type === 'present').map((item) => item.observed.id)).toContain(before.id)
    await engine.remove(before.id, signal())
    const after = await nextObservation(observations, (item) => item.type === 'absent')
    expect(after.at(-1)).toEqual({ type: 'absent', id: before.id })
    stop.abort()
  },
  'finds its runtimes again after a restart, with what runs in them': async ({
    engine,
    subject,
    spec,
    signal,
    reopen,
  }) => {
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const started = process(['cat'])
    await guest.processes.start({ ...started, stdin: 'pipe' }, signal())
    await engine.close()
    const next = await reopen()
    expect(await next.inspect(wanted.id)).toMatchObject({ state: 'running', spec: { isolation: subject.isolation } })
    const again = await connect(next, wanted.id, signal())
    expect((await again.processes.get(started.id, signal())).state).toBe('running')
  },
  'tells how much a disk holds': async ({ engine, spec, signal }) => {
    const disks = engine.ability('disks')
    if (disks === null) throw new Error('no disks')
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const before = await disks.usedBytes(wanted.id)
    const size = 4 * 2 ** 20
    await guest.content.write({ path: '/tmp/data', body: randomBytes(size), createOnly: false }, signal())
    const grown = (await disks.usedBytes(wanted.id)) - before
    expect(grown).toBeGreaterThanOrEqual(size)
    expect(grown).toBeLessThan(2 * size)
    await engine.remove(wanted.id, signal())
    expect(await kindOf(disks.usedBytes(wanted.id))).toBe('not_found')
  },
  'tells what a runtime takes, also while it stands still': async ({ engine, subject, spec, signal }) => {
    const [usage, freezer] = [engine.ability('usage'), engine.ability('freezer')]
    if (usage === null || freezer === null) throw new Error('no usage, or no freezer')
    const wanted = spec()
    const guest = await bound(engine, wanted, signal)
    const before = await usage.read(wanted.id)
    await guest.content.write({ path: '/tmp/data', body: randomBytes(4 * 2 ** 20), createOnly: false }, signal())
    await guest.processes.start({ ...process(['cat']), stdin: 'pipe' }, signal())
    await freezer.freeze(wanted.id)
    const after = await usage.read(wanted.id)
    expect((await engine.inspect(wanted.id))?.frozen).toBe(true)
    expect(after.cpuUsec).toBeGreaterThanOrEqual(before.cpuUsec)
    expect(after.memoryBytes).toBeGreaterThan(0)
    expect(after.memoryBytes).toBeLessThanOrEqual(wanted.memoryMiB * 2 ** 20)
    expect(after.diskBytes - before.diskBytes).toBeGreaterThanOrEqual(4 * 2 ** 20)
    if (subject.isolation === 'container') expect(after.processes).toBeGreaterThan(before.processes ?? Number.NaN)
    else expect(after.processes).toBeNull()
    await freezer.thaw(wanted.id)
    expect((await guest.usage(signal())).processes).toBeGreaterThan(1)
    await engine.remove(wanted.id, signal())
    expect(await kindOf(usage.read(wanted.id))).toBe('not_found')
  },
  'refuses to remove an image that is in use': async ({ engine, spec, signal }) => {
    const wanted = spec()
    await engine.ensure(wanted, signal())
    const images = engine.ability('images')
    expect(images).not.toBeNull()
    if (images !== null) expect(await kindOf(images.remove(wanted.imageDigest))).toBe('in_use')
  },
  'takes a checkpoint and restores clones that are not bound to the past': async ({
    engine,
    subject,
    spec,
    signal,
  }) => {
    const facts = (await engine.describe()).isolation[subject.isolation]
    const checkpoints = engine.ability('checkpoints')
    if (!facts.available || !facts.canCheckpoint || checkpoints === null) {
      const seed = spec()
      await engine.ensure(seed, signal())
      if (checkpoints !== null) expect(await kindOf(checkpoints.take(seed.id, 'cp1', signal()))).toBe('not_supported')
      return
    }
    const seed = spec()
    await engine.ensure(seed, signal())
    await (await connect(engine, seed.id, signal())).quiesce(signal())
    const taken = await checkpoints.take(seed.id, `cp${seed.id}`, signal())
    await engine.remove(seed.id, signal())
    expect(await checkpoints.usable(taken.checkpointId)).toEqual({ usable: true })
    const clones = [spec(), spec()].map((clone) => ({ ...clone, checkpointId: taken.checkpointId }))
    const guests = await Promise.all(clones.map((clone) => bound(engine, clone, signal)))
    for (const [index, clone] of clones.entries()) {
      expect((await engine.inspect(clone.id))?.restored).toBe(true)
      expect((await guests[index]?.info(signal()))?.runtime_id).toBe(clone.id)
    }
    await checkpoints.remove(taken.checkpointId)
  },
  ...lifecycleTests,
  ...homeTests,
  ...imageTests,
  ...egressTests,
  ...transferTests,
} satisfies Record<string, (steps: Steps) => Promise<void>>

/** The name of a conformance test. */
export type ConformanceTest = keyof typeof tests

/**
 * Registers the suite that every engine passes, one test for each promise of the contract. Call it
 * once for each isolation class.
 */
export function runConformance(subject: ConformanceSubject): void {
  describe(`${subject.name} keeps the Engine contract (${subject.isolation})`, () => {
    let engine: Engine
    let imageDigest: ImageDigest
    let opened: Promise<Engine> | null = null
    const made: string[] = []
    const signal = () => AbortSignal.timeout(subject.verbTimeoutMs)

    const spec = (): RuntimeSpec => {
      const id = makeId('runtime')
      made.push(id)
      return { id, isolation: subject.isolation, imageDigest, ...subject.size, pidsMax: 256, checkpointId: null }
    }
    const reopen = async () => {
      engine = await subject.open()
      return engine
    }

    const other = () => (opened ??= subject.openOther())

    beforeAll(async () => {
      await reopen()
      const images = engine.ability('images')
      if (images === null) throw new Error(`${subject.name} has no images`)
      imageDigest = (await images.import(subject.imageTar(), signal())).digest
    }, subject.verbTimeoutMs)
    afterAll(async () => {
      await engine.close()
      await (await opened)?.close()
    }, subject.verbTimeoutMs)

    for (const [name, run] of Object.entries(tests)) {
      const skipped = subject.skip?.find((skip) => skip.test === name)
      test.skipIf(skipped !== undefined)(
        skipped === undefined ? name : `${name} (${skipped.reason})`,
        { timeout: subject.verbTimeoutMs * 4 },
        async () => {
          try {
            await run({ engine, subject, spec, signal, reopen, other })
          } finally {
            for (const id of made.splice(0)) {
              await engine.remove(id, signal())
              await (await opened)?.remove(id, signal())
            }
          }
        },
      )
    }
  })
}
