import { Command, pageOf, Runtime } from '@holt/protocol'
import { shareOf } from '@holt/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { classes } from './support/classes.ts'
import { crash, restart } from './support/crash.ts'
import { service } from './support/facts.ts'
import { cgroupsOf, daemonPid, initOf, processesOf } from './support/host.ts'
import { bytesOf, collect } from './support/output.ts'
import { createRuntime, TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

describe('after a kill -9 of the service', () => {
  const available = classes.filter((isolation) => service.unavailable[isolation] === null)

  describe.each(available)('runtimes [%s]', (isolation) => {
    let runtime: TestRuntime
    let counting: Command
    let initBefore: number
    let deleted: TestRuntime
    let terminal: Command
    let attached: TestAttachment
    beforeAll(async () => {
      runtime = await createRuntime({
        isolation,
        name: `survivor-${isolation}`,
        metadata: { of: 'crash' },
        env: { KEPT: 'yes' },
      })
      deleted = await createRuntime({ isolation })
      const script = 'echo $KEPT; n=0; while [ ! -e /tmp/stop ]; do n=$((n+1)); echo $n; sleep 0.02; done; echo stopped'
      counting = success(
        await runtime.call('POST', '/commands', { json: { command: script, background: true } }),
        201,
        Command,
      )
      await runtime.run('cd /srv; export LEFT=there', { session: 'kept', user: 'root' })
      await until('it counts', async () => (await runtime.run('true')).exit_code === 0)
      initBefore = initOf(runtime.id)

      const typing = { command: 'stty -echo; echo ready; cat', pty: { cols: 80, rows: 24 }, background: true }
      terminal = success(await runtime.call('POST', '/commands', { json: typing }), 201, Command)
      const client = `survivor-${isolation}`
      attached = new TestAttachment(`${runtime.path}/commands/${terminal.command_id}`, { write: true, client })
      await until('it is attached', async () => attached.text === 'ready\r\n')

      const interrupted = call('DELETE', deleted.path).catch(() => undefined) // The daemon dies while or after it answers.
      const pid = daemonPid()
      await crash()
      await interrupted
      expect(initOf(runtime.id)).toBe(initBefore)
      await restart()
      expect(daemonPid()).not.toBe(pid)
    })

    it('are the same ones', async () => {
      const { updated_at: _, ...before } = runtime.data
      expect(await runtime.refresh()).toMatchObject(before)
      expect(initOf(runtime.id)).toBe(initBefore)
    })

    it('have continued their commands and kept their output', async () => {
      await runtime.sh('touch /tmp/stop')
      const ended = await until('it has ended', async () => {
        const now = success(await runtime.call('GET', `/commands/${counting.command_id}`), 200, Command)
        return now.state === 'exited' ? now : null
      })
      expect(ended.exit_code).toBe(0)
      const text = bytesOf(
        await collect(runtime, 'GET', `/commands/${counting.command_id}/output`),
        'stdout',
      ).toString()
      const lines = text.trimEnd().split('\n')
      expect(lines[0]).toBe('yes')
      expect(lines.at(-1)).toBe('stopped')
      expect(lines.slice(1, -1)).toEqual(Array.from({ length: lines.length - 2 }, (_, index) => String(index + 1)))
    })

    it('have kept their shell sessions', async () => {
      const { stdout } = await runtime.run('pwd; echo $LEFT $KEPT', { session: 'kept', user: 'root' })
      expect(stdout).toBe('/srv\nthere yes\n')
    })

    it('have kept their terminals: a client reattaches after the last byte and can type', async () => {
      expect(await attached.closed).not.toBe(1000)
      const path = `${runtime.path}/commands/${terminal.command_id}`
      using again = new TestAttachment(path, { cursor: attached.cursor, write: true, client: `survivor-${isolation}` })
      again.type('typed after\r')
      await until('it is shown', async () => again.text === 'typed after\r\n')
      again.say({ type: 'eof' })
      expect(await again.closed).toBe(1000)
      expect(again.last('exit')).toMatchObject({ exit_code: 0 })
    })

    it('accept commands and files, with their environment', async () => {
      expect((await runtime.run('echo $KEPT')).stdout).toBe('yes\n')
      await runtime.sh('echo x > /srv/a')
      await runtime.copied({ source: '/srv/a', destination: '/srv/b' })
    })

    it('are deleted on request', async () => {
      await until('it is gone', async () => {
        const { state } = await deleted.refresh()
        // The request may have been lost before the service wrote it down; then it still runs and
        // says so.
        return state === 'terminated' || state === 'running'
      })
      await deleted.delete()
      expect(processesOf(deleted.id)).toEqual([])
      expect(cgroupsOf(deleted.id)).toEqual([])
      failure(await deleted.call('GET', '/commands'), 'runtime_terminated')
    })

    it('end as usual', async () => {
      await runtime.delete()
      expect(cgroupsOf(runtime.id)).toEqual([])
    })
  })

  it.each(available)(
    'creates in progress are completed or cleaned up [%s]',
    async (isolation) => {
      const creates = shareOf([0, 20, 60, 120, 200], 2 / 5, `moments of a create in ${isolation}`)
      for (const afterMs of creates) {
        const metadata = { half: crypto.randomUUID() }
        const creating = call('POST', runtimesPath, { json: { isolation, metadata } }).catch(() => undefined) // The answer is lost.
        // Each kill falls into another step of the create: that is the point of the pause, not a
        // hope.
        await new Promise((resolve) => setTimeout(resolve, afterMs))
        await crash()
        await creating
        await restart()
        const { data } = await until(
          'nothing is half made',
          async () => {
            const page = success(
              await call('GET', runtimesPath, { query: { 'metadata.half': metadata.half } }),
              200,
              pageOf(Runtime),
            )
            return page.data.every(({ state }) => state !== 'starting' && state !== 'terminating') ? page : null
          },
          60_000,
        )
        expect(data.length).toBeLessThanOrEqual(1)
        for (const found of data) {
          const runtime = new TestRuntime(found)
          if (found.state === 'running') expect((await runtime.run('echo works')).stdout).toBe('works\n')
          else expect(['failed', 'terminated']).toContain(found.state)
          await runtime.delete()
          expect(cgroupsOf(found.runtime_id)).toEqual([])
        }
      }
    },
    120_000,
  )

  it('a runtime that ended meanwhile is failed, with the reason', async () => {
    for (const isolation of available) {
      const runtime = await createRuntime({ isolation })
      const init = initOf(runtime.id)
      await crash()
      process.kill(init, 'SIGKILL')
      await restart()
      const failed = await until('it has failed', async () => {
        const now = await runtime.refresh()
        return now.state === 'failed' ? now : null
      })
      expect(failed.state_reason?.code).toBe('crashed')
      await runtime.delete()
    }
  })

  it('keys and templates are unchanged', async () => {
    const before = (await call('GET', '/v1/agents/template')).text
    await crash()
    await restart()
    expect((await call('GET', '/v1/agents/template')).text).toBe(before)
  })
})
