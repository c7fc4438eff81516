import { readFile } from 'node:fs/promises'
import type { Engine, ImageDigest } from '@holt/engine'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { cpuMs } from './support/cpu-time.ts'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from './support/engine-under-test.ts'
import { processesOf } from './support/processes-of.ts'
import { missing } from './support/test-machine.ts'

for (const [isolation, runner] of [
  ['gvisor', 'runsc'],
  ['container', 'runc'],
] as const) {
  const reason = await missing('root', 'go', runner)
  describe.skipIf(reason !== null)(
    `limits of ${isolation} (${reason ?? 'ready'})`,
    { timeout: VERB_TIMEOUT_MS * 2 },
    () => {
      let under: EngineUnderTest
      let engine: Engine
      let image: ImageDigest
      beforeAll(async () => {
        under = await prepareEngine()
        engine = await under.open()
        image = await importImage(engine, under)
      }, VERB_TIMEOUT_MS)
      afterEach(async () => {
        for (const id of await running(engine)) await engine.remove(id, timeout())
        expect(await under.leaks()).toEqual([])
      }, VERB_TIMEOUT_MS)
      afterAll(async () => {
        await engine.close()
        await under[Symbol.asyncDispose]()
      })

      test('a process above the memory limit is killed, and the host reports it', async () => {
        const spec = smallSpec(isolation, image, { memoryMiB: 128 })
        const guest = await startGuest(engine, spec)
        expect(await runCommand(guest, '/bin/probe', 'hog')).toMatchObject({ exitCode: 137 })
        expect((await runCommand(guest, 'echo', 'still here')).output).toBe('still here\n')
      })

      test('a crash leaves no core file on the host', async () => {
        const spec = smallSpec(isolation, image)
        const guest = await startGuest(engine, spec)
        await runCommand(guest, 'true')
        const own = await processesOf(spec.id)
        expect(own.length).toBeGreaterThan(0)
        for (const pid of own) {
          const limits = await readFile(`/proc/${pid}/limits`, 'utf8')
          expect(limits, String(pid)).toMatch(/^Max core file size +0 +0 +bytes/m)
        }
      })

      test('a fork bomb ends at the limit of processes', async () => {
        const guest = await startGuest(engine, smallSpec(isolation, image, { pidsMax: 64, memoryMiB: 512 }))
        const { output } = await runCommand(guest, '/bin/probe', 'forks')
        expect(Number(output)).toBeGreaterThan(2)
        // gVisor's own pids controller lets a few more through than it says.
        expect(Number(output)).toBeLessThan(isolation === 'gvisor' ? 2 * 64 : 64)
        expect((await runCommand(guest, 'echo', 'still here')).output).toBe('still here\n')
      })

      test('a full disk gives ENOSPC at its size, and freed space can be written again', async () => {
        const guest = await startGuest(engine, smallSpec(isolation, image, { diskMiB: 64 }))
        const { output } = await runCommand(guest, '/bin/probe', 'fill', '/var/lib/data/big')
        const rounds = output.trim().split('\n')
        expect(rounds).toHaveLength(2)
        for (const round of rounds) {
          const [written, full] = round.split(' ')
          expect(full).toBe('true')
          expect(Number(written)).toBeGreaterThan(40)
          expect(Number(written)).toBeLessThanOrEqual(64)
        }
        expect((await runCommand(guest, 'echo', 'still here')).output).toBe('still here\n')
      })

      test('four busy threads stay within their cpu share', async () => {
        const spec = smallSpec(isolation, image, { cpu: 0.5 })
        const guest = await startGuest(engine, spec)
        const before = { at: performance.now(), cpu: await cpuMs(under, spec.id) }
        await runCommand(guest, '/bin/probe', 'spin')
        const share = ((await cpuMs(under, spec.id)) - before.cpu) / (performance.now() - before.at)
        expect(share).toBeGreaterThan(0.1)
        expect(share).toBeLessThan(0.6)
      })
    },
  )
}

async function running(engine: Engine): Promise<string[]> {
  const stop = new AbortController()
  const ids: string[] = []
  for await (const item of engine.observe(stop.signal)) {
    if (item.type !== 'present') break
    ids.push(item.observed.id)
  }
  return ids
}
