import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Engine, EngineError } from '@holt/engine'
import { makeId } from '@holt/protocol'
import { shareOf } from '@holt/testkit'
import { expect, test } from 'vitest'
import { detectCgroups } from '../src/cgroups/detect-cgroups.ts'
import { createHostEngine, removeRunDir } from '../src/index.ts'
import {
  type EngineUnderTest,
  importImage,
  type LogLine,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { startDaemon } from './support/start-daemon.ts'
import { missing } from './support/test-machine.ts'

const reason = await missing('root', 'go', 'runsc', 'runc')
const options = { timeout: VERB_TIMEOUT_MS * 3 }
const ensuring = new URL('./support/ensure-in-daemon.ts', import.meta.url)
const both = ['gvisor', 'container'] as const

async function withEngine(work: (under: EngineUnderTest, lines: LogLine[]) => Promise<void>): Promise<void> {
  const lines: LogLine[] = []
  await using under = await prepareEngine(lines)
  await work(under, lines)
  expect(await under.leaks()).toEqual([])
}

async function imageOf(under: EngineUnderTest) {
  const engine = await under.open()
  const image = await importImage(engine, under)
  await engine.close()
  return image
}

test.skipIf(reason !== null).each(both)(
  `a %s survives a kill of its daemon, and the next one reaches it (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await withEngine(async (under) => {
      const spec = smallSpec(isolation, await imageOf(under))
      const daemon = startDaemon(under, ensuring, { spec })
      await daemon.said('ensured')
      await daemon.kill()
      const engine = await under.open()
      expect(await engine.inspect(spec.id)).toMatchObject({ state: 'running', spec })
      const guest = await startGuest(engine, spec)
      expect((await runCommand(guest, 'echo', 'here')).output).toBe('here\n')
      await engine.remove(spec.id, timeout())
      await engine.close()
    })
  },
)

// Moments of a start: before the disk, within it, while the runner works, about when it is done.
const moments = [0, 10, 25, 50, 80, 120, 170, 230]

/** A short run draws an eighth. */
const killsInStart = shareOf(
  both.flatMap((isolation) => moments.map((delayMs) => ({ isolation, delayMs }))),
  1 / 8,
  'moments of a start',
)

test.skipIf(reason !== null).each(killsInStart)(
  `a $isolation whose daemon was killed $delayMs ms into its start can be started again and removed (${reason ?? 'ready'})`,
  options,
  async ({ isolation, delayMs }) => {
    await withEngine(async (under) => {
      const spec = smallSpec(isolation, await imageOf(under))
      const daemon = startDaemon(under, ensuring, { spec })
      await daemon.said('starting')
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      await daemon.kill()
      const engine = await under.open()
      if (delayMs % 20 === 0) {
        const guest = await startGuest(engine, spec)
        expect((await runCommand(guest, 'echo', 'here')).output).toBe('here\n')
      }
      await engine.remove(spec.id, timeout())
      expect(await engine.inspect(spec.id)).toBeNull()
      await engine.close()
    })
  },
)

test.skipIf(reason !== null).each(both)(
  `a %s whose first process is killed has ended, and is reported at once (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const spec = smallSpec(isolation, await importImage(engine, under))
      await startGuest(engine, spec)
      const ended = waitForEnd(engine, spec.id)
      process.kill(await firstProcess(under, spec.id), 'SIGKILL')
      expect(await ended).toMatchObject({ state: 'ended', ending: { reason: 'crashed' } })
      await engine.remove(spec.id, timeout())
      await engine.close()
    })
  },
)

test.skipIf(reason !== null).each(both)(
  `a %s whose removal a killed daemon began has ended, and the next one cannot use it (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const spec = smallSpec(isolation, await importImage(engine, under))
      await startGuest(engine, spec)
      await engine.close()
      // The first step of an end, before any process is killed.
      const pids = (await detectCgroups()).controllers.get('pids') ?? ''
      await writeFile(join(pids, `holt-${under.options.installationId}`, spec.id, 'pids.max'), '0')
      const next = await under.open()
      expect(await next.inspect(spec.id)).toMatchObject({ state: 'ended', ending: { reason: 'crashed' } })
      await next.remove(spec.id, timeout())
      await next.close()
    })
  },
)

test.skipIf(reason !== null)(
  `a runtime of another boot has ended with the host (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const spec = smallSpec('container', await importImage(engine, under))
      await engine.ensure(spec, timeout())
      await engine.close()
      const path = join(under.options.stateDir, 'runtimes', spec.id, 'runtime.json')
      const record = JSON.parse(await readFile(path, 'utf8'))
      await writeFile(path, JSON.stringify({ ...record, bootId: 'another' }))
      const next = await under.open()
      expect(await next.inspect(spec.id)).toMatchObject({ state: 'ended', ending: { reason: 'host_restarted' } })
      await next.remove(spec.id, timeout())
      await next.close()
    })
  },
)

test.skipIf(reason !== null)(
  `unidentified files are kept and reported, and affect nothing (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under, lines) => {
      const runtimes = join(under.options.stateDir, 'runtimes')
      const broken = makeId('runtime')
      await (await under.open()).close()
      await mkdir(join(runtimes, broken))
      await writeFile(join(runtimes, broken, 'runtime.json'), '{"format":')
      await mkdir(join(runtimes, 'notes'))
      const engine = await under.open()
      expect((await readdir(runtimes)).sort()).toEqual(['notes', broken].sort())
      expect(lines.filter((line) => line.level === 'warn')).toHaveLength(2)
      await engine.close()
      for (const name of [broken, 'notes']) await rm(join(runtimes, name), { recursive: true })
    })
  },
)

test.skipIf(reason !== null)(
  `leftovers of a runtime without a record are removed, and nothing else (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const { stateDir, runDir, installationId } = under.options
      const cgroupParent = `/holt-${installationId}`
      await (await under.open()).close()
      const { hierarchies } = await detectCgroups()
      const groups = hierarchies.map((point) => join(point, cgroupParent, makeId('runtime')))
      const foreign = hierarchies.map((point) => join(point, `${cgroupParent}-other`, makeId('runtime')))
      const id = makeId('runtime')
      const disk = join(stateDir, 'runtimes', id, 'disk')
      const withGroups = groups.map((group) => join(runDir, basename(group)))
      const dirs = [disk, join(runDir, '.runner', makeId('runtime')), ...withGroups]
      foreign.push(...hierarchies.map((point) => join(point, cgroupParent, makeId('runtime'))))
      for (const dir of [...dirs, ...groups, ...foreign]) await mkdir(dir, { recursive: true })
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'holt-test', disk])
      // A runner that was killed between its write and its rename leaves a name of its own.
      for (const name of ['pid', '.pid', 'config.json']) await writeFile(join(dirname(disk), name), '1')
      const sleeper = spawn('sleep', ['600'])
      await writeFile(join(groups[0] ?? '', 'cgroup.procs'), String(sleeper.pid))
      const ended = once(sleeper, 'exit')
      await (await under.open()).close()
      await ended
      for (const dir of [...dirs, dirname(disk), ...groups])
        await expect(stat(dir)).rejects.toMatchObject({ code: 'ENOENT' })
      for (const dir of foreign) expect((await stat(dir)).isDirectory()).toBe(true)
      for (const dir of foreign) await rmdir(dir)
      for (const point of hierarchies)
        for (const parent of [cgroupParent, `${cgroupParent}-other`]) await rmdir(join(point, parent))
    })
  },
)

test.skipIf(reason !== null)(
  `a state directory that was copied with mounted images works (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const imageDigest = await imageOf(under)
      await (await under.open()).close()
      const mounts = join(under.options.stateDir, 'images', '.mnt')
      const hex = imageDigest.slice('sha256:'.length)
      for (const copy of [join(mounts, `${hex}.whole`), join(mounts, hex), join(mounts, '0'.repeat(64))]) {
        await mkdir(copy, { recursive: true })
        await writeFile(join(copy, 'image'), 'copied')
      }
      const engine = await under.open()
      const spec = smallSpec('container', imageDigest)
      await engine.ensure(spec, timeout())
      await engine.remove(spec.id, timeout())
      await engine.close()
    })
  },
)

test.skipIf(reason !== null).each(both)(
  `a %s of another installation in the same run directory, or of the original of a copy, keeps running (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await withEngine(async (under) => {
      const imageDigest = await imageOf(under)
      const open = (change: Partial<EngineUnderTest['options']>) => createHostEngine({ ...under.options, ...change })
      const path = (name: string) => join(under.options.stateDir, '..', name)
      const stranger = { stateDir: path('stranger'), installationId: `${under.options.installationId}-2` }
      const places = [{}, stranger, { stateDir: path('copy') }, { stateDir: path('far'), runDir: path('far-run') }]
      const spec = smallSpec(isolation, imageDigest)
      const engine = await under.open()
      await startGuest(engine, spec)
      await engine.close()
      // Each opens once first and once again: the mark of an earlier one is not that of the last.
      for (const place of [...places, ...places.toReversed()]) await open(place).then((next) => next.close())
      const other = await open(stranger)
      const theirs = smallSpec(isolation, await importImage(other, under))
      await startGuest(other, theirs)
      await other.close()
      for (const place of places) await open(place).then((next) => next.close())
      for (const [place, { id }] of [[{}, spec] as const, [stranger, theirs] as const]) {
        const again = await open(place)
        expect((await again.inspect(id))?.state).toBe('running')
        await again.dial(id, timeout())
        // The end of an installation leaves what is of others.
        await removeRunDir({ ...under.options, ...place })
        await again.dial(id, timeout())
        await again.remove(id, timeout())
        await again.close()
      }
      await removeRunDir(under.options)
      await expect(stat(under.options.runDir)).rejects.toMatchObject({ code: 'ENOENT' })
    })
  },
)

test.skipIf(reason !== null)(
  `a second engine over the same state is refused (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const engine = await under.open()
      await expect(createHostEngine(under.options)).rejects.toMatchObject({ kind: 'conflict' })
      await engine.close()
    })
  },
)

test.skipIf(reason !== null).each(both)(
  `a %s that is removed while it starts is gone, and its start says so (${reason ?? 'ready'})`,
  options,
  async (isolation) => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const spec = smallSpec(isolation, await importImage(engine, under))
      const started = engine.ensure(spec, timeout()).catch((error: unknown) => error)
      await expect.poll(() => engine.inspect(spec.id)).not.toBeNull()
      await engine.remove(spec.id, timeout())
      expect(await started).toBeInstanceOf(EngineError)
      expect(await engine.inspect(spec.id)).toBeNull()
      await engine.close()
    })
  },
)

test.skipIf(reason !== null)(
  `many runtimes of both classes start and end at the same time (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const image = await importImage(engine, under)
      const specs = Array.from({ length: 10 }, (_, index) => smallSpec(index % 2 === 0 ? 'gvisor' : 'container', image))
      await Promise.all(specs.map((spec) => engine.ensure(spec, timeout())))
      await Promise.all(specs.map((spec) => engine.dial(spec.id, timeout())))
      await Promise.all(specs.map((spec) => engine.remove(spec.id, timeout())))
      await engine.close()
    })
  },
)

test.skipIf(reason !== null)(
  `a checkpoint that is damaged, or of another size, boots cold (${reason ?? 'ready'})`,
  options,
  async () => {
    await withEngine(async (under) => {
      const engine = await under.open()
      const image = await importImage(engine, under)
      const checkpoints = engine.ability('checkpoints')
      const seed = smallSpec('gvisor', image)
      const guest = await engine.ensure(seed, timeout()).then(() => engine.dial(seed.id, timeout()))
      const quiesced = await guest.request({
        method: 'POST',
        path: '/v1/quiesce',
        body: Buffer.from('{}'),
        signal: timeout(),
      })
      quiesced.body.resume()
      const taken = await checkpoints?.take(seed.id, 'cp', timeout())
      expect(taken).toMatchObject({ checkpointId: 'cp', imageDigest: image })
      expect(await checkpoints?.take(seed.id, 'cp', timeout())).toEqual(taken)
      for (const [change, restored, fallback] of [
        [{}, true, null],
        [{ memoryMiB: 320 }, false, { reason: 'incompatible', why: 'its memoryMiB is 256' }],
      ] as const) {
        const clone = smallSpec('gvisor', image, { checkpointId: 'cp', ...change })
        await startGuest(engine, clone)
        expect(await engine.inspect(clone.id)).toMatchObject({ restored, fallback })
        await engine.remove(clone.id, timeout())
      }
      await writeFile(join(under.options.stateDir, 'checkpoints', 'cp', 'checkpoint.img'), 'short')
      const clone = smallSpec('gvisor', image, { checkpointId: 'cp' })
      await startGuest(engine, clone)
      const fallback = { reason: 'damaged', why: expect.stringContaining('checkpoint.img') }
      expect(await engine.inspect(clone.id)).toMatchObject({ restored: false, fallback })
      await engine.close()
      const next = await under.open()
      expect(await next.inspect(clone.id)).toMatchObject({ restored: false, fallback })
      await next.remove(clone.id, timeout())
      await next.close()
    })
  },
)

async function waitForEnd(engine: Engine, id: string) {
  for await (const item of engine.observe(timeout())) {
    if (item.type === 'present' && item.observed.id === id && item.observed.state === 'ended') return item.observed
  }
  return null
}

async function firstProcess(under: EngineUnderTest, id: string): Promise<number> {
  const record = await readFile(join(under.options.stateDir, 'runtimes', id, 'runtime.json'), 'utf8')
  return JSON.parse(record).process.pid
}
