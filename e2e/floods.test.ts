import { Command } from '@holt/protocol'
import { beforeAll, expect, it } from 'vitest'
import { success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { daemonMemory, forgetPeakMemory } from './support/host.ts'
import { follow } from './support/output.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const mib = 2 ** 20

/** Commands that write faster than anybody reads. */
const floods = {
  yes: (bytes: number) => `yes | head -c ${bytes}`,
  'one-byte lines': (bytes: number) => `yes '' | head -c ${bytes}`,
  'one line': (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x`,
}

/**
 * gVisor's pipes are some twenty times slower, and much more would only take longer: all that flows
 * is far more than the bound.
 */
const volumes = { gvisor: { unread: 24 * mib, read: 40 * mib }, container: { unread: 1024 * mib, read: 128 * mib } }

describeClasses('a flood', (isolation) => {
  let runtime: TestRuntime
  const { unread, read } = volumes[isolation]
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    // The service's heap grows to what streaming takes, once.
    for (const flood of Object.values(floods)) await drain(flood(8 * mib))
  })

  /** Reads a command's stream to its end; answers how many bytes of output it told of. */
  async function drain(command: string): Promise<number> {
    let bytes = 0
    let last = ''
    const headers = { accept: 'application/x-ndjson' }
    for await (const item of follow(runtime, 'POST', '/commands', { json: { command, timeout_secs: 0 }, headers })) {
      if ('data' in item)
        bytes += item.encoding === 'base64' ? Buffer.from(item.data, 'base64').length : item.data.length
      if (item.type === 'dropped') bytes += item.dropped_bytes
      last = item.type
    }
    expect(last).toBe('end')
    return bytes
  }

  async function end(command: string): Promise<Command> {
    const json = { command, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    return until(
      'it has ended',
      async () => {
        const now = success(await runtime.call('GET', `/commands/${command_id}`), 200, Command)
        return now.state === 'exited' ? now : null
      },
      120_000,
    )
  }

  it('of every kind at once use less than 64 MiB of the service, and the buffers of the runtime', async () => {
    const guestMiB = async () => Number(await runtime.sh("awk '/^VmRSS/ { print int($2 / 1024) }' /proc/1/status"))
    const guestBefore = await guestMiB()
    forgetPeakMemory()
    const before = daemonMemory().nowMiB
    await Promise.all(
      Object.values(floods).map(async (flood) => {
        const [ended, bytes] = await Promise.all([end(flood(unread)), drain(flood(read))])
        expect(ended).toMatchObject({ exit_code: 0, stdout_bytes: unread, stderr_bytes: 0 })
        expect(ended.dropped).toEqual({ stdout: unread - mib, stderr: 0 })
        expect(bytes).toBe(read)
      }),
    )
    expect(daemonMemory().peakMiB - before).toBeLessThan(64)
    expect((await guestMiB()) - guestBefore).toBeLessThan(48)
  }, 240_000)
})
