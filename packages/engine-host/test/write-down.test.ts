import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Engine, EngineError, type ImageDigest } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { shareOf } from '@holt/testkit'
import { expect, test } from 'vitest'
import { createHostEngine, type HostEngineOptions } from '../src/index.ts'
import { mount, unmountTree } from '../src/mounts/mount.ts'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  processOf,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { startDaemon } from './support/start-daemon.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc')
const options = { timeout: VERB_TIMEOUT_MS * 3 }
const taking = new URL('./support/take-in-daemon.ts', import.meta.url)

interface Prepared {
  readonly under: EngineUnderTest
  readonly engine: Engine
  readonly image: ImageDigest
}

async function withEngine(
  work: (prepared: Prepared) => Promise<void>,
  options: (under: EngineUnderTest) => Promise<Partial<HostEngineOptions>> = async () => ({}),
): Promise<void> {
  await using under = await prepareEngine()
  const engine = await createHostEngine({ ...under.options, ...(await options(under)) })
  try {
    await work({ under, engine, image: await importImage(engine, under) })
  } finally {
    for await (const item of engine.observe(timeout())) {
      if (item.type === 'listed') break
      if (item.type === 'present') await engine.remove(item.observed.id, timeout())
    }
    await engine.close()
  }
  expect(await under.leaks()).toEqual([])
}

/** So much memory takes longer to write down than a test takes to see that it has begun. */
const slowBytes = 64 * 2 ** 20

/** A runtime in which a program waits for input, and which holds so much memory. */
async function startWaiting(engine: Engine, image: ImageDigest, heldBytes = 0) {
  const spec = smallSpec('gvisor', image)
  const guest = await startGuest(engine, spec)
  const waiting = { ...processOf(['cat']), stdin: 'pipe' as const }
  await guest.processes.start(waiting, timeout())
  if (heldBytes > 0) {
    const body = Buffer.alloc(heldBytes, 1)
    await guest.content.write({ path: '/dev/shm/much', body, createOnly: true }, timeout())
  }
  return { spec, guest, waiting }
}

/** The runsc of these tests, whose sandbox is told to write a checkpoint where it cannot. */
async function failingRunsc({ tree }: EngineUnderTest): Promise<string> {
  const path = join(tree, '..', 'bin', 'runsc')
  const script = `#!/bin/sh
case " $* " in *" checkpoint "*) set -- $(echo "$*" | sed 's|--image-path=[^ ]*|--image-path=/proc/1/none|') ;; esac
exec ${process.env.HOLT_RUNSC} "$@"
`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

async function expectWaiting(engine: Engine, id: string, commandId: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const guest = new GuestClient(await engine.dial(id, timeout()))
      expect((await guest.processes.get(commandId, timeout())).state).toBe('running')
      expect((await runCommand(guest, 'echo', 'here')).output).toBe('here\n')
      return
    } catch (error) {
      // A guest may give up its first connection after a checkpoint. Clients get 503 and try again.
      if (!(error instanceof EngineError) || error.kind !== 'unavailable' || tries === 5) throw error
    }
  }
}

function checkpointsOf(engine: Engine) {
  const checkpoints = engine.ability('checkpoints')
  if (checkpoints === null) throw new Error('no checkpoints')
  return checkpoints
}

test.skipIf(reason !== null).each([true, false])(
  `a runtime whose checkpoint gVisor refuses continues (leaveRunning %s, ${reason ?? 'ready'})`,
  options,
  async (leaveRunning) => {
    await withEngine(
      async ({ under, engine, image }) => {
        const { spec, guest, waiting } = await startWaiting(engine, image)
        await guest.quiesce(timeout(), { force: true })
        const take = checkpointsOf(engine).take(spec.id, 'cp', timeout(), { leaveRunning })
        await expect(take).rejects.toMatchObject({ kind: 'failed' })
        await expectWaiting(engine, spec.id, waiting.id)
        expect(await readdir(join(under.options.stateDir, 'checkpoints'))).toEqual([])
      },
      async (under) => ({ runscPath: await failingRunsc(under) }),
    )
  },
)

test.skipIf(reason !== null).each([
  { lack: 'space', options: 'size=300m' },
  { lack: 'inodes', options: 'size=1g,nr_inodes=4' },
])(
  `a runtime continues when the disk lacks $lack for its checkpoint (${reason ?? 'ready'})`,
  options,
  async ({ lack, options: tmpfs }) => {
    await withEngine(async ({ under, engine, image }) => {
      const point = join(under.options.stateDir, 'checkpoints')
      await mount({ type: 'tmpfs', source: 'tmpfs', point, options: tmpfs.split(',') })
      try {
        const held = lack === 'space' ? 48 * 2 ** 20 : 0
        const { spec, guest, waiting } = await startWaiting(engine, image, held)
        await guest.quiesce(timeout(), { force: true })
        const take = checkpointsOf(engine).take(spec.id, 'cp', timeout())
        await expect(take).rejects.toMatchObject({ kind: 'no_space' })
        await expectWaiting(engine, spec.id, waiting.id)
        expect(await readdir(point)).toEqual([])
      } finally {
        await unmountTree(point)
      }
    })
  },
)

/** The files of the checkpoint that is being written. */
async function filesBegun({ options: { stateDir } }: EngineUnderTest): Promise<readonly string[]> {
  return readdir(join(stateDir, 'checkpoints'), { recursive: true })
}

test.skipIf(reason !== null).each([
  ['at once', () => true],
  ['when its directory is there', (files: readonly string[]) => files.length > 0],
  ['when its pages are written', (files: readonly string[]) => files.some((file) => file.endsWith('/pages.img'))],
] as const)(
  `a runtime goes on when its take is given up %s, and can be taken then (${reason ?? 'ready'})`,
  options,
  async (_, isMoment) => {
    await withEngine(async ({ under, engine, image }) => {
      const { spec, waiting } = await startWaiting(engine, image, slowBytes)
      const checkpoints = checkpointsOf(engine)
      for (let tries = 1; ; tries++) {
        await new GuestClient(await engine.dial(spec.id, timeout())).quiesce(timeout(), { force: true })
        const stop = new AbortController()
        const take = checkpoints.take(spec.id, 'cp1', stop.signal).then(
          () => null,
          (error: unknown) => error,
        )
        await expect.poll(async () => isMoment(await filesBegun(under)), { interval: 1 }).toBe(true)
        stop.abort(new Error('enough'))
        const error = await take
        if (error !== null || tries === 5) {
          expect(error).toMatchObject({ message: 'enough' })
          break
        }
        // On a busy machine the take can end before the abort. The runtime is in its checkpoint
        // then.
        await engine.ensure({ ...spec, checkpointId: 'cp1', restoreOnly: true }, timeout())
        await checkpoints.remove('cp1')
      }
      await expectWaiting(engine, spec.id, waiting.id)
      await new GuestClient(await engine.dial(spec.id, timeout())).quiesce(timeout(), { force: true })
      await checkpointsOf(engine).take(spec.id, 'cp2', timeout())
      expect((await checkpointsOf(engine).list()).map(({ checkpointId }) => checkpointId)).toEqual(['cp2'])
      await engine.ensure({ ...spec, checkpointId: 'cp2', restoreOnly: true }, timeout())
      await expectWaiting(engine, spec.id, waiting.id)
    })
  },
)

test.skipIf(reason !== null).each([true, false])(
  `a removal does not wait for a checkpoint (leaveRunning %s, ${reason ?? 'ready'})`,
  options,
  async (leaveRunning) => {
    await withEngine(async ({ under, engine, image }) => {
      const { spec, guest } = await startWaiting(engine, image, slowBytes)
      await guest.quiesce(timeout(), { force: true })
      const take = checkpointsOf(engine).take(spec.id, 'cp', timeout(), { leaveRunning })
      const given = expect(take).rejects.toMatchObject({ kind: 'gone' })
      const dir = join(under.options.stateDir, 'checkpoints')
      // Its files are begun once the lock of the runtime is held.
      await expect.poll(async () => (await readdir(dir)).length, { interval: 1 }).toBeGreaterThan(0)
      await engine.remove(spec.id, timeout())
      await given
      expect([await engine.inspect(spec.id), await readdir(dir)]).toEqual([null, []])
    })
  },
)

test.skipIf(reason !== null)(
  `a runtime whose removal failed can have a checkpoint (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async ({ engine, image }) => {
      const { spec, guest, waiting } = await startWaiting(engine, image)
      await expect(engine.remove(spec.id, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
      await guest.quiesce(timeout(), { force: true })
      await checkpointsOf(engine).take(spec.id, 'cp', timeout(), { leaveRunning: true })
      await expectWaiting(engine, spec.id, waiting.id)
    })
  },
)

test.skipIf(reason !== null)(
  `a checkpoint that changed under the engine, or after its restart, is not restored (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async ({ under, engine, image }) => {
      const { spec, guest, waiting } = await startWaiting(engine, image)
      await guest.quiesce(timeout(), { force: true })
      await checkpointsOf(engine).take(spec.id, 'cp', timeout())
      const restored = { ...spec, checkpointId: 'cp', restoreOnly: true }
      await engine.ensure(restored, timeout())
      await expectWaiting(engine, spec.id, waiting.id)
      await engine.remove(spec.id, timeout())
      const pages = join(under.options.stateDir, 'checkpoints', 'cp', 'pages.img')
      await writeFile(pages, 'x', { flag: 'r+' })
      await expect(engine.ensure(restored, timeout())).rejects.toMatchObject({ kind: 'damaged' })
      expect(await engine.inspect(spec.id)).toBeNull()
    })
  },
)

test.skipIf(reason !== null)(
  `saved runtimes continue with their own guest after repeated upgrades (${reason ?? 'ready'})`,
  options,
  async () => {
    await using under = await prepareEngine()
    const engine = await under.open()
    const { spec, guest, waiting } = await startWaiting(engine, await importImage(engine, under))
    await guest.quiesce(timeout(), { force: true })
    await checkpointsOf(engine).take(spec.id, 'cp0', timeout())
    await engine.close()
    const { guestBinary, stateDir } = under.options
    // A byte behind the program makes it another one.
    await appendFile(guestBinary ?? '', '0')
    const guests = () => readdir(join(stateDir, 'guests'))
    let last = 'cp0'
    for (const next of ['cp1', 'cp2']) {
      const upgraded = await under.open()
      expect(await guests()).toHaveLength(2)
      expect(await checkpointsOf(upgraded).usable(last)).toMatchObject({ problem: 'incompatible' })
      await upgraded.ensure({ ...spec, checkpointId: last, restoreOnly: true }, timeout())
      await expectWaiting(upgraded, spec.id, waiting.id)
      await new GuestClient(await upgraded.dial(spec.id, timeout())).quiesce(timeout(), { force: true })
      await checkpointsOf(upgraded).take(spec.id, next, timeout())
      await checkpointsOf(upgraded).remove(last)
      await upgraded.close()
      last = next
    }
    const without = await under.open()
    await checkpointsOf(without).remove(last)
    await without.close()
    await (await under.open()).close()
    expect(await guests()).toHaveLength(1)
    expect(await under.leaks()).toEqual([])
  },
)

// Moments of a take: before the runner, while it writes, while its files are hashed, while the
// runtime is taken away, when all is done.
const moments = [0, 40, 80, 130, 180, 250, 350, 600].flatMap((delayMs) =>
  [true, false].map((leaveRunning) => ({ delayMs, leaveRunning })),
)

test.skipIf(reason !== null).each(shareOf(moments, 1 / 8, 'moments of a take'))(
  `a daemon that is killed $delayMs ms into a take (leaveRunning $leaveRunning) leaves the runtime or its checkpoint (${reason ?? 'ready'})`,
  options,
  async ({ delayMs, leaveRunning }) => {
    await using under = await prepareEngine()
    const engine = await under.open()
    const { spec, waiting } = await startWaiting(engine, await importImage(engine, under))
    await engine.close()
    const daemon = startDaemon(under, taking, { id: spec.id, checkpointId: 'cp', leaveRunning })
    await daemon.said('taking')
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await daemon.kill()

    const next = await under.open()
    const runs = (await next.inspect(spec.id))?.state === 'running'
    if (leaveRunning) expect(runs).toBe(true)
    if (runs) await expectWaiting(next, spec.id, waiting.id)
    await next.remove(spec.id, timeout())
    const usability = await checkpointsOf(next).usable('cp')
    if (!usability.usable) expect(usability.problem).toBe('absent')
    if (!runs) expect(usability).toEqual({ usable: true })
    if (usability.usable) {
      await next.ensure({ ...spec, checkpointId: 'cp', restoreOnly: true }, timeout())
      await expectWaiting(next, spec.id, waiting.id)
    }
    await next.remove(spec.id, timeout())
    await next.close()
    expect(await under.leaks()).toEqual([])
  },
)

test.skipIf(reason !== null)(
  `a running source is in use while its checkpoint becomes durable, and keeps its changes (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async ({ engine, image }) => {
      const { spec, guest, waiting } = await startWaiting(engine, image)
      await guest.quiesce(timeout(), { force: true })
      let durable = false
      const used: boolean[] = []
      const onRunning = () => {
        // The lock of the runtime is free, so that everything can be done with it.
        void engine
          .ability('disks')
          ?.usedBytes(spec.id)
          .then(() => used.push(durable))
      }
      const take = checkpointsOf(engine).take(spec.id, 'cp', timeout(), { leaveRunning: true, onRunning })
      await take
      durable = true
      expect(used).toEqual([false])
      await expectWaiting(engine, spec.id, waiting.id)
    })
  },
)

test.skipIf(reason !== null)(
  `a file of another program is not used as a checkpoint (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async ({ under, engine, image }) => {
      const dir = join(under.options.stateDir, 'checkpoints', 'foreign')
      await mkdir(dir)
      await writeFile(join(dir, 'checkpoint.img'), 'not ours')
      expect(await checkpointsOf(engine).usable('foreign')).toMatchObject({ usable: false, problem: 'absent' })
      const spec = smallSpec('gvisor', image, { checkpointId: 'foreign', restoreOnly: true })
      await expect(engine.ensure(spec, timeout())).rejects.toMatchObject({ kind: 'damaged' })
      expect(await checkpointsOf(engine).list()).toEqual([])
    })
  },
)
