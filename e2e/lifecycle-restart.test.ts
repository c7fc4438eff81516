import { setTimeout as sleep } from 'node:timers/promises'
import { pageOf, Runtime, Snapshot } from '@holt/protocol'
import { oneIn, shareOf } from '@holt/testkit'
import { describe, expect, it } from 'vitest'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { cgroupsOf, initOf, isFrozen } from './support/host.ts'
import { checkpoints } from './support/host-disk.ts'
import { listBelongings } from './support/leaks.ts'
import { LivingProcess } from './support/lifecycle/living-process.ts'
import { nothingLeft, settled } from './support/lifecycle/states.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { createRuntime, TestRuntime } from './support/test-runtime.ts'
import { callSnapshot, deleteSnapshots, snapshotsPath } from './support/test-snapshots.ts'
import { until } from './support/until.ts'

// Pauses, snapshots and forks survive a kill -9 of the daemon at any step: no runtime loses
// anything, and nothing is left half made.

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** When the kill comes: each falls into another step. A short run draws one. */
const momentsMs = shareOf([0, 25, 60, 110, 180, 300], 1 / 6, 'moments of a kill')

/**
 * Makes a request whose answer is lost: the daemon is killed so long after it was sent, and the
 * next one is started.
 */
async function crashDuring(request: Promise<unknown>, afterMs: number): Promise<void> {
  const answered = request.catch(() => undefined)
  await sleep(afterMs)
  await crash()
  await answered
  await restart()
}

/** A short run has one of the two tests that repeat what other files test, but over a kill. */
const sometimes = oneIn(2, 'restarts', it)

describe.skipIf(withoutGvisor)('after a kill -9 of the service', () => {
  it('running and paused runtimes and snapshots are unchanged', async () => {
    const before = listBelongings(service)
    await using runtime = await createRuntime({ name: 'restart-runs' })
    const living = await LivingProcess.start(runtime)
    await living.add(4)
    const ticker = await Ticker.start(runtime)
    const { snapshot_id } = await runtime.snapshot()
    const [paused] = (await runtime.fork()) as [TestRuntime]
    await living.in(paused).add(10)
    const asleep = await paused.pause()
    const init = initOf(runtime.id)
    for (const stop of [crash, () => restartWith({})]) {
      await stop()
      await restart()
      expect(initOf(runtime.id)).toBe(init)
      expect(await paused.refresh()).toEqual(asleep)
      expect(cgroupsOf(paused.id)).toEqual([])
    }
    expect((await living.look()).total).toBe(4)
    await ticker.countsBeyond(await ticker.count())
    expect((await living.in(paused).look()).total).toBe(14)
    await ticker.in(paused).countsBeyond(await ticker.in(paused).count())
    await using made = await createRuntime({ snapshot: snapshot_id })
    expect((await living.in(made).look()).total).toBe(4)
    for (const one of [paused, made, runtime]) await one.delete()
    await deleteSnapshots(snapshot_id)
    await nothingLeft(before)
  }, 120_000)

  it.each(['pause', 'resume'] as const)(
    'during a %s the runtime runs or is paused, with its whole state',
    async (verb) => {
      await using runtime = await createRuntime()
      const living = await LivingProcess.start(runtime)
      const { digest } = await living.look()
      const ticker = await Ticker.start(runtime)
      let total = 0
      for (const afterMs of momentsMs) {
        await living.add(1)
        total += 1
        if (verb === 'resume') await runtime.pause()
        await crashDuring(runtime.call('POST', `/${verb}`), afterMs)
        const { state } = await settled(runtime)
        expect(['running', 'paused'], `after ${afterMs} ms`).toContain(state)
        expect(await living.look(), `after ${afterMs} ms`).toMatchObject({ digest, total })
        await ticker.countsBeyond(await ticker.count())
      }
    },
    180_000,
  )

  it.each(['memory', 'filesystem'] as const)(
    'during a %s snapshot it is complete or absent, and the source continues',
    async (kind) => {
      const before = listBelongings(service)
      await using runtime = await createRuntime()
      await runtime.sh('head -c 8M /dev/urandom > /srv/random; sha256sum /srv/random > /srv/sum')
      const living = await LivingProcess.start(runtime)
      await living.add(1)
      for (const afterMs of momentsMs) {
        const name = `cut-${kind}-${afterMs}`
        await crashDuring(runtime.call('POST', '/snapshot', { json: { name, kind } }), afterMs)
        expect((await runtime.refresh()).state).toBe('running')
        expect((await living.look()).total).toBe(1)
        const query = { runtime_id: runtime.id }
        const { data } = success(await call('GET', snapshotsPath, { query }), 200, pageOf(Snapshot))
        for (const { state, snapshot_id } of data) {
          expect(['ready', 'failed'], `after ${afterMs} ms`).toContain(state)
          if (state === 'ready') {
            await using made = await createRuntime({ snapshot: snapshot_id })
            await made.sh('sha256sum --quiet -c /srv/sum')
          } else {
            const { status } = await call('POST', runtimesPath, { json: { snapshot: snapshot_id } })
            expect([404, 409, 422]).toContain(status)
          }
          await deleteSnapshots(snapshot_id)
        }
        failure(await callSnapshot('GET', name), 'snapshot_not_found')
      }
      await runtime.delete()
      await nothingLeft(before)
    },
    240_000,
  )

  it('during a fork its children run or are absent, and nothing else is left', async () => {
    const before = listBelongings(service)
    await using runtime = await createRuntime({ memory: '256MiB' })
    const living = await LivingProcess.start(runtime)
    await living.add(1)
    for (const afterMs of [...momentsMs, 500]) {
      const metadata = { cut: crypto.randomUUID() }
      await crashDuring(runtime.call('POST', '/fork', { json: { count: 3, metadata } }), afterMs)
      const children = await until(
        'no child is half made',
        async () => {
          const query = { 'metadata.cut': metadata.cut }
          const { data } = success(await call('GET', runtimesPath, { query }), 200, pageOf(Runtime))
          return data.every(({ state }) => ['running', 'failed', 'terminated'].includes(state)) ? data : null
        },
        60_000,
      )
      expect(children.length).toBeLessThanOrEqual(3)
      expect((await living.look()).total, `after ${afterMs} ms`).toBe(1)
      for (const child of children.filter(({ state }) => state === 'running')) {
        const made = new TestRuntime(child)
        expect((await living.in(made).add(2)).total).toBe(3)
        await made.delete()
      }
    }
    await runtime.delete()
    await nothingLeft(before)
  }, 240_000)

  sometimes(
    'an idle runtime is frozen, and can be used, paused and killed in a pause like any other',
    async () => {
      const network_policy = { allow: [{ host: 'db.example.com' }] }
      await using runtime = await createRuntime({ network_policy })
      const standsStill = () => until('it stands still', async () => isFrozen(runtime.id), 60_000)
      const works = async () => expect(await runtime.sh('getent hosts db.example.com')).toContain('db.example.com')
      await works()
      await standsStill()
      await works()
      await standsStill()
      await crash()
      await restart()
      await works()
      await standsStill()
      await runtime.pause()
      await works()
      for (const afterMs of momentsMs) {
        await standsStill()
        await crashDuring(runtime.call('POST', '/pause'), afterMs)
        expect(['running', 'paused'], `after ${afterMs} ms`).toContain((await settled(runtime)).state)
        await works()
      }
      await standsStill()
    },
    240_000,
  )

  it('a runtime that is deleted while paused stays deleted, with its checkpoint', async () => {
    const kept = checkpoints()
    const runtime = await createRuntime()
    await runtime.pause()
    await crashDuring(runtime.delete(), 10)
    if ((await settled(runtime)).state === 'paused') await runtime.delete() // The request was lost before it was written down.
    expect((await runtime.refresh()).state).toBe('terminated')
    await until('its checkpoint is gone', async () => checkpoints().every((one) => kept.includes(one)))
  })

  sometimes(
    'a create from a snapshot in progress is completed or cleaned up',
    async () => {
      const before = listBelongings(service)
      await using runtime = await createRuntime()
      const living = await LivingProcess.start(runtime)
      await living.add(7)
      const { snapshot_id } = await runtime.snapshot()
      for (const afterMs of shareOf([0, 40, 100, 200], 1 / 4, 'moments of a create')) {
        const metadata = { of: crypto.randomUUID() }
        await crashDuring(call('POST', runtimesPath, { json: { snapshot: snapshot_id, metadata } }), afterMs)
        const query = { 'metadata.of': metadata.of }
        const { data } = success(await call('GET', runtimesPath, { query }), 200, pageOf(Runtime))
        for (const found of data) {
          const made = new TestRuntime(found)
          if ((await settled(made)).state === 'running') expect((await living.in(made).look()).total).toBe(7)
          await made.delete()
        }
      }
      await deleteSnapshots(snapshot_id)
      await runtime.delete()
      await nothingLeft(before)
    },
    120_000,
  )
})
