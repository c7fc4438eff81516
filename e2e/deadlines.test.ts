import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, type CreateRuntimeInput, Runtime, type UpdateRuntimeInput } from '@holt/protocol'
import { oneIn, shareOf } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, failure, success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { describeClasses } from './support/classes.ts'
import { crash, restart, restartWith } from './support/crash.ts'
import { service } from './support/facts.ts'
import { cgroupsOf, daemonPid, isFrozen } from './support/host.ts'
import { closeConnections } from './support/http.ts'
import { LivingProcess } from './support/lifecycle/living-process.ts'
import { stateOf } from './support/lifecycle/states.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// When a runtime ends or is paused by itself. Nothing here says how soon: only that it happens,
// why, and that nothing happens that must not. Those wait side by side that leave the daemon alone.

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

const change = async (runtime: TestRuntime, json: UpdateRuntimeInput) =>
  success(await call('PATCH', runtime.path, { json }), 200, Runtime)

/** The time between a moment of an answer and now, in seconds. */
const secondsFromNow = (at: string | null) => (Date.parse(`${at}`) - Date.now()) / 1000

/** Expects a runtime to run still after so long, although nobody uses it. */
async function runsFor(runtime: TestRuntime, secs: number): Promise<void> {
  for (const end = performance.now() + secs * 1000; performance.now() < end; await sleep(200))
    expect(await runtime.refresh()).toMatchObject({ state: 'running' })
}

describe.skipIf(withoutGvisor)('the deadline of a runtime that can be paused', () => {
  it.concurrent('is one hour by default', async () => {
    await using runtime = await createRuntime()
    expect(runtime.data).toMatchObject({
      timeout_secs: 3600,
      on_timeout: 'pause',
      idle_timeout_secs: null,
      auto_resume: true,
    })
    expect(secondsFromNow(runtime.data.expires_at)).toBeGreaterThan(3000)
  })

  it.concurrent('pauses it with its whole state; the next request resumes it for the same time', async () => {
    await using runtime = await createRuntime({ timeout_secs: 600 })
    const living = await LivingProcess.start(runtime)
    await living.add(2)
    // The deadline is near only while nothing else has to happen before it.
    await change(runtime, { timeout_secs: 1 })
    expect(await stateOf(runtime, 'paused')).toMatchObject({ state_reason: { code: 'timeout' }, expires_at: null })
    expect(cgroupsOf(runtime.id)).toEqual([])
    await change(runtime, { timeout_secs: 600 })
    expect((await living.add(2)).total).toBe(4)
    expect(secondsFromNow((await runtime.refresh()).expires_at)).toBeGreaterThan(300)
    await change(runtime, { timeout_secs: 1 })
    await stateOf(runtime, 'paused')
    await change(runtime, { timeout_secs: 3 })
    expect((await runtime.call('GET', '/commands')).status).toBe(200)
    expect(await stateOf(runtime, 'paused')).toMatchObject({ state_reason: { code: 'timeout' }, timeout_secs: 3 })
    await change(runtime, { timeout_secs: 600 })
    expect((await living.add(2)).total).toBe(6)
  })

  it.concurrent('pauses it even in use, and waiting requests are answered in full after the resume', async () => {
    await using runtime = await createRuntime({ timeout_secs: 2 })
    const answer = runtime.run('for n in 1 2 3 4 5 6; do echo $n; sleep 0.7; done')
    await stateOf(runtime, 'paused')
    await change(runtime, { timeout_secs: null })
    await runtime.resume()
    expect((await answer).stdout).toBe('1\n2\n3\n4\n5\n6\n')
  })

  it.concurrent('is moved, removed and set again by PATCH', async () => {
    await using runtime = await createRuntime({ timeout_secs: 5 })
    const later = await change(runtime, { timeout_secs: 600 })
    expect(secondsFromNow(later.expires_at)).toBeGreaterThan(500)
    expect(await change(runtime, { timeout_secs: null })).toMatchObject({ timeout_secs: null, expires_at: null })
    await runsFor(runtime, 6)
    expect(await change(runtime, { timeout_secs: 1, on_timeout: 'terminate' })).toMatchObject({
      on_timeout: 'terminate',
    })
    expect(await stateOf(runtime, 'terminated')).toMatchObject({ state_reason: { code: 'timeout' } })
  })

  it.concurrent('of a paused runtime begins with its resume', async () => {
    await using runtime = await createRuntime({ timeout_secs: 600 })
    await runtime.pause()
    expect(await change(runtime, { timeout_secs: 2 })).toMatchObject({
      state: 'paused',
      timeout_secs: 2,
      expires_at: null,
    })
    await sleep(2500)
    expect((await runtime.refresh()).state).toBe('paused')
    expect(secondsFromNow((await runtime.resume()).expires_at)).toBeGreaterThan(0)
    expect(await stateOf(runtime, 'paused')).toMatchObject({ state_reason: { code: 'timeout' } })
  })
})

describeClasses('a deadline', (isolation) => {
  it('terminates it on request, and has the reason', async () => {
    await using runtime = await createRuntime({ isolation, timeout_secs: 2, on_timeout: 'terminate' })
    expect(await stateOf(runtime, 'terminated')).toMatchObject({ state_reason: { code: 'timeout' } })
    expect(cgroupsOf(runtime.id)).toEqual([])
    failure(await runtime.call('GET', '/commands'), 'runtime_terminated')
  })

  it('takes effect at the next start of the daemon; remaining time is kept', async () => {
    await using short = await createRuntime({ isolation, timeout_secs: 3, on_timeout: 'terminate' })
    await using long = await createRuntime({ isolation, timeout_secs: 600, on_timeout: 'terminate' })
    await crash()
    await sleep(3500)
    expect(cgroupsOf(short.id)).not.toEqual([])
    await restart()
    await stateOf(short, 'terminated')
    expect(await long.refresh()).toMatchObject({ state: 'running', expires_at: long.data.expires_at })
  })
})

describe.skipIf(withoutGvisor)('an idle runtime', () => {
  const idle = (more: CreateRuntimeInput = {}) => createRuntime({ idle_timeout_secs: 2, timeout_secs: null, ...more })

  it.concurrent('is paused with the reason idle, and resumed on use', async () => {
    await using runtime = await idle()
    const ticker = await Ticker.start(runtime)
    expect(await stateOf(runtime, 'paused')).toMatchObject({ state_reason: { code: 'idle' } })
    await ticker.countsBeyond(await ticker.count())
    await stateOf(runtime, 'paused')
  })

  it.concurrent('is not paused during a waited-for command', async () => {
    await using runtime = await idle()
    const { stdout } = await runtime.run('sleep 5; echo slept')
    expect(stdout).toBe('slept\n')
    expect((await runtime.refresh()).state).toBe('running')
  })

  it.concurrent('is not paused during a stream', async () => {
    await using runtime = await idle()
    const ticker = await Ticker.start(runtime)
    const followed = ticker.follow()
    await followed.reaches(1)
    await runsFor(runtime, 5)
    await followed.stop()
    await stateOf(runtime, 'paused')
  }, 120_000)

  it.concurrent('is not paused during a terminal session', async () => {
    await using runtime = await idle()
    const json = { command: 'cat', pty: { cols: 80, rows: 24 }, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    const attached = new TestAttachment(`${runtime.path}/commands/${command_id}`, { write: true })
    attached.type('here\r')
    await until('it is shown', async () => attached.text.includes('here'))
    await runsFor(runtime, 5)
    attached.close()
    await attached.closed
    await stateOf(runtime, 'paused')
  }, 120_000)

  it.concurrent('is not paused while an unfollowed process runs in the foreground', async () => {
    await using runtime = await idle()
    const json = { command: 'sleep 7; echo done > /tmp/done' }
    const leaving = new AbortController()
    const waiting = runtime.call('POST', '/commands', { json, signal: leaving.signal }).catch(() => undefined) // The client goes away on purpose.
    await until('it runs', async () => (await runtime.call('GET', '/commands')).text.includes(json.command))
    leaving.abort()
    await waiting
    await runsFor(runtime, 5)
    await stateOf(runtime, 'paused')
    expect(await runtime.sh('cat /tmp/done')).toBe('done')
  })

  it.concurrent('gets and loses an idle timeout by PATCH', async () => {
    await using runtime = await createRuntime()
    await change(runtime, { idle_timeout_secs: 1 })
    await stateOf(runtime, 'paused')
    await change(runtime, { idle_timeout_secs: null })
    await runtime.run('true')
    await runsFor(runtime, 4)
  })

  it('is still idle for the next daemon', async () => {
    await using runtime = await idle({ idle_timeout_secs: 4 })
    await crash()
    await restart()
    expect(await stateOf(runtime, 'paused')).toMatchObject({ state_reason: { code: 'idle' } })
  })
})

describe.skipIf(withoutGvisor)('time that passes', () => {
  const sometimes = oneIn(2, 'stopped daemons', it)

  sometimes('while the daemon is stopped: expired deadlines act once, and others do not', async () => {
    await using short = await createRuntime({ timeout_secs: 3 })
    await using long = await createRuntime({ timeout_secs: 600, idle_timeout_secs: 300 })
    const ticker = await Ticker.start(short)
    const pid = daemonPid()
    process.kill(pid, 'SIGSTOP')
    await sleep(5000)
    process.kill(pid, 'SIGCONT')
    await stateOf(short, 'paused')
    await ticker.countsBeyond(await ticker.count())
    expect(await long.refresh()).toMatchObject({ state: 'running', expires_at: long.data.expires_at })
    expect(daemonPid()).toBe(pid)
  })

  sometimes(
    'while the daemon is stopped: a waiting client keeps its runtime running, and an unused runtime is paused',
    async () => {
      const idleSecs = 15
      const settings = { idle_timeout_secs: idleSecs, timeout_secs: null }
      await using idle = await createRuntime(settings)
      await using due = await createRuntime({ timeout_secs: idleSecs, on_timeout: 'terminate' })
      await using first = await createRuntime({ ...settings, auto_resume: false })
      await using second = await createRuntime({ ...settings, auto_resume: false })
      const used = [first, second]
      const uses = () =>
        Promise.all(used.map((runtime) => runtime.call('GET', '/files/stat', { query: { path: '/' } })))
      await uses()
      await until('they are frozen', async () => used.every(({ id }) => isFrozen(id)))
      for (const { id } of [idle, due]) expect(cgroupsOf(id)).not.toEqual([])
      const pid = daemonPid()
      process.kill(pid, 'SIGSTOP')
      await sleep((idleSecs + 2) * 1000)
      closeConnections() // Who comes anew is let in later than whoever is connected.
      const answers = uses()
      await sleep(200)
      process.kill(pid, 'SIGCONT')
      expect((await answers).map(({ status, text }) => [status, text.includes('runtime_paused')])).toEqual(
        used.map(() => [200, false]),
      )
      for (const runtime of used) await change(runtime, { idle_timeout_secs: null })
      expect(await stateOf(due, 'terminated')).toMatchObject({ state_reason: { code: 'timeout' } })
      expect(await stateOf(idle, 'paused')).toMatchObject({ state_reason: { code: 'idle' } })
      for (const runtime of used) expect(await runtime.refresh()).toMatchObject({ state: 'running' })
      expect(daemonPid()).toBe(pid)
    },
  )

  describe('after a change of the wall clock', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holt-clock-'))
    const clock = join(folder, 'offset')
    const preload = new URL('support/shifted-clock.mjs', import.meta.url).pathname
    const settings = { NODE_OPTIONS: `--import=${preload}`, HOLT_E2E_CLOCK: clock }
    const setClock = async (offsetMs: number) => {
      writeFileSync(clock, String(offsetMs))
      process.kill(daemonPid(), 'SIGUSR2')
    }
    beforeAll(async () => {
      writeFileSync(clock, '0')
      await restartWith(settings)
    })
    afterAll(async () => {
      await restartWith({})
      rmSync(folder, { recursive: true })
    })

    const jumps = [
      { way: 'forwards', hours: 2, runs: true },
      { way: 'backwards', hours: -2, runs: true },
      { way: 'forwards while no daemon runs', hours: 2, runs: false },
      { way: 'backwards while no daemon runs', hours: -2, runs: false },
    ]
    it.each(shareOf(jumps, 1 / 4, 'jumps of the clock'))(
      '$way, a runtime keeps its remaining time',
      async ({ hours, runs }) => {
        await using long = await createRuntime({ timeout_secs: 600, idle_timeout_secs: 300 })
        await using short = await createRuntime({ timeout_secs: 4, on_timeout: 'terminate' })
        const jumpMs = hours * 3600_000
        if (runs) await setClock(jumpMs)
        else {
          await crash()
          writeFileSync(clock, String(jumpMs))
          await restart(settings)
        }
        /** Waits until the deadline of what runs is so far from where it was. */
        const moved = (byMs: number) =>
          until('the deadline has moved', async () => {
            const { expires_at } = await long.refresh()
            return Math.abs(Date.parse(`${expires_at}`) - Date.parse(`${long.data.expires_at}`) - byMs) < 5000
          })
        try {
          await stateOf(short, 'terminated')
          await moved(jumpMs)
          await runsFor(long, 2)
        } finally {
          await setClock(0)
          await moved(0)
        }
      },
    )
  })
})
