import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { addEvent } from '../../../sdk/test/support/event-handlers.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const capacity = {
  cpus: 4,
  memory_mib: 65_536,
  memory_available_mib: 12_800,
  memory_reserved_mib: 1024,
  memory_promised_mib: 4096,
  memory_used_mib: 512,
  memory_overcommit: 2,
  disk_mib: 102_400,
  disk_free_mib: 51_200,
  disk_reserved_mib: 1024,
  runtimes: { running: 3, paused: 1 },
}

describe('host events', () => {
  test('shows the events of hosts, and refuses types of other events', async () => {
    addEvent(service, 'host.lost', { kind: 'host', id: 'ho1' })
    const ready = addEvent(service, 'host.ready', { kind: 'host', id: 'ho2' })
    const shown = await runHolt(['host', 'events', 'ho1'], { service })
    expect(shown.stdout).toMatch(/ 1 host\.lost +ho1\n$/)
    const { stdout } = await runHolt(['host', 'events', '-q', '--type', 'host.ready'], { service })
    expect(stdout).toBe(`${ready.event_id}\n`)
    expect(service.calls.at(-1)?.route).toBe('listHostEvents')
    const refused = await runHolt(['host', 'events', '--type', 'runtime.*'], { service })
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('host.*')])
  })
})

describe('host ls', () => {
  test('shows what is free, and says that every check has passed', async () => {
    service.host = { ...service.host, capacity }
    const { code, stdout, stderr } = await runHolt(['host', 'ls'], { service })
    expect([code, stderr]).toEqual([0, ''])
    const [titles, row, ...rest] = stdout.trimEnd().split('\n')
    expect(titles).toMatch(/^HOST +NAME +STATUS +VERSION +RUNNING +FREE MEMORY +FREE DISK +CHECKS +UP$/)
    expect(row?.split(/ {2,}/)).toEqual([
      service.host.host_id,
      'machine',
      'ready',
      '1.0.0',
      '3',
      '12.5 GiB of 64.0 GiB',
      '50.0 GiB of 100 GiB',
      'all 1 passed',
      expect.stringMatching(/^\d+[smhd]$/),
    ])
    expect(rest).toEqual([])
  })

  test('names what is wrong below the table, on one line each', async () => {
    service.host = {
      ...service.host,
      status: 'not_ready',
      reasons: ['gvisor: no guest answers'],
      checks: [
        { name: 'kernel', status: 'ok', message: '6.1.0', fix: null },
        { name: 'disk', status: 'fix', message: '1 GiB is left', fix: 'holt rm --all' },
        { name: 'clock', status: 'warn', message: 'it jumped\n\u001b[31mback', fix: null },
      ],
    }
    const { code, stdout } = await runHolt(['host', 'ls'], { service })
    expect(code).toBe(0)
    const [, row, ...rest] = stdout.trimEnd().split('\n')
    // Without an engine that answers, nothing is known of what is free.
    expect(row?.split(/ {2,}/).slice(2, 8)).toEqual(['not ready', '1.0.0', '-', '-', '-', '1 fix, 1 warn'])
    expect(rest).toEqual([
      'not ready: gvisor: no guest answers',
      'FIX: holt rm --all    # disk: 1 GiB is left',
      'warning: clock: it jumped \\u001b[31mback',
    ])
  })

  test('prints ids, and the object of the API', async () => {
    expect((await runHolt(['hosts'], { service })).stdout).toContain(service.host.host_id)
    expect((await runHolt(['host', 'ls', '-q'], { service })).stdout).toBe(`${service.host.host_id}\n`)
    const { stdout } = await runHolt(['host', 'ls', '--json'], { service })
    expect(JSON.parse(stdout)).toEqual({ data: [service.host], next_cursor: null })
  })

  test('of a key without the scope fails with a hint', async () => {
    service.faults.push({ route: 'listHosts', type: 'refuse', code: 'forbidden' })
    const { code, stderr } = await runHolt(['host', 'ls'], { service })
    expect(code).toBe(1)
    expect(stderr).toContain('holt whoami')
  })
})

describe('changes of hosts', () => {
  test.each([
    { args: ['cordon'], route: 'cordonHost', told: 'Cordoned ho1' },
    { args: ['uncordon'], route: 'uncordonHost', told: 'Uncordoned ho1' },
    { args: ['drain', '--deadline', '10m'], route: 'drainHost', told: 'Draining ho1: 2 to move' },
    { args: ['drain', '--dry-run'], route: 'drainHost', told: 'Would drain ho1' },
    { args: ['lost', '--force'], route: 'loseHost', told: 'Declared ho1 lost' },
    { args: ['forget'], route: 'forgetHost', told: 'Forgot ho1' },
  ])('host $args changes each given host', async ({ args, route, told }) => {
    const ended = await runHolt(['host', ...args, 'ho1', 'ho2'], { service })
    expect(ended).toMatchObject({ code: 0, stdout: '' })
    expect(ended.stderr).toContain(told)
    expect(service.calls.slice(-2).map((call) => call.route)).toEqual([route, route])
  })

  test('host without an id is refused', async () => {
    expect((await runHolt(['host', 'cordon'], { service })).code).toBe(2)
  })
})
