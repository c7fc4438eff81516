import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, ImageDigest } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { detectCgroups } from '../../src/cgroups/detect-cgroups.ts'
import { cgroupParentOf } from '../../src/cgroups/runtime-cgroup.ts'
import {
  type EngineUnderTest,
  importImage,
  type LogLine,
  prepareEngine,
  processOf,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from '../support/engine-under-test.ts'
import { missing } from '../support/test-machine.ts'

// The process that takes all memory is killed. The rest of its runtime and other runtimes continue.

for (const [isolation, runner] of [
  ['gvisor', 'runsc'],
  ['container', 'runc'],
] as const) {
  const reason = await missing('root', 'go', runner)
  describe.skipIf(reason !== null)(
    `exhausted memory in ${isolation} (${reason ?? 'ready'})`,
    { timeout: VERB_TIMEOUT_MS * 2 },
    () => {
      let under: EngineUnderTest
      let engine: Engine
      let image: ImageDigest
      const lines: LogLine[] = []
      beforeAll(async () => {
        under = await prepareEngine(lines)
        engine = await under.open()
        image = await importImage(engine, under)
      }, VERB_TIMEOUT_MS)
      afterEach(async ({ task }) => {
        const isFailed = task.result?.state === 'fail'
        // The ending tells a runtime that the guard ended from a sandbox that crashed.
        if (isFailed) console.error('the log of the engine:', lines)
        lines.length = 0
        for await (const item of engine.observe(timeout())) {
          if (item.type === 'listed') break
          if (item.type !== 'present') continue
          if (isFailed) console.error('a runtime after the failure:', item.observed)
          await engine.remove(item.observed.id, timeout())
        }
        expect(await under.leaks()).toEqual([])
      }, VERB_TIMEOUT_MS)
      afterAll(async () => {
        await engine.close()
        await under[Symbol.asyncDispose]()
      })

      /** A runtime with a file and a process in it, and another runtime beside it. */
      async function startBystanders(diskMiB = 64) {
        const spec = smallSpec(isolation, image, { diskMiB })
        const guest = await startGuest(engine, spec)
        const waiting = { ...processOf(['cat']), stdin: 'pipe' as const }
        await guest.processes.start(waiting, timeout())
        await guest.content.write({ path: '/kept', body: Buffer.from('kept'), createOnly: true }, timeout())
        const other = await startGuest(engine, smallSpec(isolation, image))
        const limit = await limitOf(spec.id)
        const expectUnharmed = async () => {
          expect((await runCommand(other, 'echo', 'here')).output).toBe('here\n')
          expect(await guest.processes.get(waiting.id, timeout())).toMatchObject({
            state: 'running',
            oom_killed: false,
          })
          expect((await runCommand(guest, 'cat', '/kept')).output).toBe('kept')
          expect(await limitOf(spec.id)).toBe(limit)
          expect(await engine.inspect(spec.id)).toMatchObject({ state: 'running', ending: null })
        }
        return { spec, guest, expectUnharmed }
      }

      /** Returns the processes of a runtime as the kernel weighs them when memory is used up. */
      async function scoresOf(id: string) {
        const pids = (await readFile(join(await memoryCgroupOf(id), 'cgroup.procs'), 'utf8')).trim().split('\n')
        const read = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
        return Promise.all(
          pids.map(async (pid) => ({
            name: (await read(pid, 'comm')).trim(),
            score: Number(await read(pid, 'oom_score')),
          })),
        )
      }

      async function limitOf(id: string): Promise<string> {
        const { version } = await detectCgroups()
        const file = version === 'v2' ? 'memory.max' : 'memory.limit_in_bytes'
        return readFile(join(await memoryCgroupOf(id), file), 'utf8')
      }

      async function memoryCgroupOf(id: string): Promise<string> {
        const { controllers } = await detectCgroups()
        return join(controllers.get('memory') ?? '', cgroupParentOf(under.options), id)
      }

      /** The programs of this process that watch memory. */
      async function watchers(): Promise<number[]> {
        const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8')
        const named = children.split(' ').filter((pid) => pid !== '')
        const names = await Promise.all(named.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
        return named.filter((_, at) => names[at]?.startsWith('holt-watch-memory')).map(Number)
      }

      /**
       * Returns how many sources of events a watcher has open: one for each runtime that it
       * watches, and its own.
       */
      async function eventsOf(pid: number): Promise<number> {
        const names = await readdir(`/proc/${pid}/fd`).catch(() => [])
        const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')))
        return links.filter((link) => /eventfd|inotify/.test(link)).length
      }

      /** Runs a program that ends by being killed for memory, and expects that this is said. */
      async function expectKilled(guest: GuestClient, ...argv: readonly string[]): Promise<void> {
        const command = processOf(argv)
        await Array.fromAsync(await guest.processes.run(command, timeout()))
        const { exit_code, oom_killed } = await guest.processes.get(command.id, timeout())
        expect({ exit_code, oom_killed }).toEqual({ exit_code: 137, oom_killed: true })
      }

      test('kills one greedy process, twenty times in a row', async () => {
        const { spec, guest, expectUnharmed } = await startBystanders()
        for (let round = 0; round < 20; round++) await expectKilled(guest, '/bin/probe', 'hog')
        await expectUnharmed()
        await expect.poll(async () => (await engine.inspect(spec.id))?.memoryKills.count).toBeGreaterThanOrEqual(20)
      })

      test('kills nothing for the file cache, and then the greedy process', async () => {
        const { spec, guest, expectUnharmed } = await startBystanders(1024)
        expect((await runCommand(guest, '/bin/probe', 'disk-cache', '/big')).output).toBe('512 EOF\n')
        expect((await engine.inspect(spec.id))?.memoryKills.count).toBe(0)
        for (let round = 0; round < 3; round++) {
          await expectKilled(guest, '/bin/probe', 'hog')
          expect((await runCommand(guest, '/bin/probe', 'disk-cache', '/big')).output).toBe('512 EOF\n')
        }
        await expectUnharmed()
        await expect.poll(async () => (await engine.inspect(spec.id))?.memoryKills.count).toBe(3)
      })

      test('kills one greedy process after a kill of the memory watcher', async () => {
        const { guest, expectUnharmed } = await startBystanders()
        const [first = 0] = await watchers()
        const watched = await eventsOf(first)
        process.kill(first, 'SIGKILL')
        const next = async () => (await watchers()).find((pid) => pid !== first)
        await expect
          .poll(async () => eventsOf((await next()) ?? 0), { timeout: 30_000 })
          .toBeGreaterThanOrEqual(watched)
        await expectKilled(guest, '/bin/probe', 'hog-slowly')
        await expectUnharmed()
      })

      // The kernel may kill a second process before the memory of the first one is free.
      test.skipIf(isolation === 'gvisor')('has the kernel take an idle supervisor before a small command', async () => {
        const { spec } = await startBystanders()
        await expect
          .poll(async () => {
            const processes = await scoresOf(spec.id)
            const command = processes.find(({ name }) => name === 'cat')?.score ?? Number.POSITIVE_INFINITY
            return processes.some(({ name, score }) => name !== 'cat' && score > command)
          })
          .toBe(true)
      })

      test('kills ten greedy processes', async () => {
        const { guest, expectUnharmed } = await startBystanders()
        await Promise.all(Array.from({ length: 10 }, () => expectKilled(guest, '/bin/probe', 'hog-slowly')))
        await expectUnharmed()
      })

      test('kills a fork bomb of greedy processes', async () => {
        const { guest, expectUnharmed } = await startBystanders()
        await expectKilled(guest, '/bin/probe', 'hog-bomb')
        await expectUnharmed()
      })

      test.skipIf(isolation === 'container')('ends one greedy process of a runtime that is restored', async () => {
        const { spec, guest } = await startBystanders()
        const checkpoints = engine.ability('checkpoints')
        await guest.quiesce(timeout(), { force: true })
        await checkpoints?.take(spec.id, 'restored', timeout())
        await engine.ensure({ ...spec, checkpointId: 'restored', restoreOnly: true }, timeout())
        const again = new GuestClient(await engine.dial(spec.id, timeout()))
        await expectKilled(again, '/bin/probe', 'hog')
        expect((await runCommand(again, 'cat', '/kept')).output).toBe('kept')
        await checkpoints?.remove('restored')
      })

      test.skipIf(isolation === 'container')('ends what fills a file system in memory', async () => {
        const { guest, expectUnharmed } = await startBystanders()
        await expectKilled(guest, '/bin/probe', 'fill-tmpfs', '/tmp/memory')
        await expectUnharmed()
        // The written file is there, and causes no further kill.
        expect((await guest.files.stat('/tmp/memory/big', timeout())).size_bytes).toBeGreaterThan(200 * 2 ** 20)
        await guest.files.remove({ path: '/tmp/memory/big', recursive: false }, timeout())
        await expectKilled(guest, '/bin/probe', 'hog')
        await expectUnharmed()
      })
    },
  )
}
