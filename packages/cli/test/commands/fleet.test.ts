import type { Host } from '@holt/sdk'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { fleetStatusOf } from '../../src/commands/fleet-status.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** The place of a host that needs no attention. */
const place: NonNullable<TestService['host']['fleet']> = {
  state: 'ready',
  wanted: 'ready',
  silent_secs: null,
  class_id: null,
  runtimes: 3,
  address: '10.1.2.3:4659',
  protocol_min: 1,
  protocol_max: 2,
  clock_difference_secs: -0.004,
  duties: ['judge', 'cleaner'],
  blockers: [],
}

describe('fleet status', () => {
  test('shows a fleet that is well', async () => {
    service.host = { ...service.host, fleet: place }
    const { code, stdout, stderr } = await runHolt(['fleet', 'status'], { service })
    expect([code, stderr]).toEqual([0, ''])
    const [titles, row, ...rest] = stdout.trimEnd().split('\n')
    expect(titles?.split(/ {2,}/)).toEqual([
      'HOST',
      'NAME',
      'STATE',
      'VERSION',
      'PROTOCOL',
      'CLASS',
      'SILENT',
      'CLOCK',
      'RUNTIMES',
      'DUTIES',
    ])
    expect(row?.split(/ {2,}/)).toEqual([
      service.host.host_id,
      'machine',
      'ready',
      '1.0.0',
      '1 to 2',
      '-',
      '-',
      '-0.00s',
      '3',
      'judge cleaner',
    ])
    expect(rest).toEqual(['versions   1.0.0', 'protocol   2', 'level      2'])
  })

  test.each([
    [{ silent_secs: 41 }, 'has been silent for 41 s.'],
    [{ state: 'lost' }, 'is lost. Start it again, or forget it: holt host forget'],
    [{ clock_difference_secs: 3.5 }, "its clock is 3.5 s ahead of the database's."],
  ] as const)('exits 1 for a host that needs attention: %j', async (part, problem) => {
    service.host = { ...service.host, fleet: { ...place, ...part } }
    const { code, stdout } = await runHolt(['fleet', 'status'], { service })
    expect(code).toBe(1)
    expect(stdout).toContain(problem)
  })

  test('a class is short, and a lost host has no silence', async () => {
    const class_id = '0123456789abcdef'
    const silenceOf = async (state: 'ready' | 'lost') => {
      service.host = {
        ...service.host,
        fleet: { ...place, class_id, state, wanted: state === 'lost' ? 'ready' : state, silent_secs: 41 },
      }
      const { stdout } = await runHolt(['fleet', 'status'], { service })
      const [, row] = stdout.split('\n')
      return row?.split(/ {2,}/).slice(5, 7)
    }
    expect(await silenceOf('ready')).toEqual(['01234567', '41s'])
    expect(await silenceOf('lost')).toEqual(['01234567', '-'])
  })

  test('a host that is cordoned on purpose is no problem, and its blockers are shown', async () => {
    const blockers = [{ blocks: 'removal', code: 'running', message: '3 runtimes run here.' } as const]
    service.host = { ...service.host, fleet: { ...place, state: 'cordoned', wanted: 'cordoned', blockers } }
    const { code, stdout } = await runHolt(['fleet', 'status'], { service })
    expect(code).toBe(0)
    expect(stdout).toContain(`removal    of ${service.host.host_id} is blocked: 3 runtimes run here.`)
    const { stdout: json } = await runHolt(['fleet', 'status', '--json'], { service })
    expect(JSON.parse(json)).toMatchObject({ is_in_fleet: true, protocol: 2, versions: ['1.0.0'], problems: [] })
  })

  test('a front, which is always cordoned, is no problem by itself', () => {
    const front = (reasons: readonly string[]) => ({
      ...service.host,
      ...{ status: 'not_ready' as const, reasons: [...reasons] },
      fleet: { ...place, state: 'cordoned' as const, wanted: 'ready' as const },
    })
    expect(fleetStatusOf([front([])]).problems).toEqual([])
    expect(fleetStatusOf([front(['Its clock is off.'])]).problems).toEqual([
      `${service.host.host_id}: Its clock is off.`,
    ])
  })

  test('the level is that of the oldest host that is not forgotten, and names it', () => {
    const host = (host_id: string, protocol_max: number, state: typeof place.state = 'ready') => {
      return { ...service.host, host_id: host_id as Host['host_id'], fleet: { ...place, state, protocol_max } }
    }
    const mixed = fleetStatusOf([host('ho1', 2), host('ho2', 3), host('ho3', 1, 'gone')])
    expect(mixed).toMatchObject({ protocol: 2, level: 2, level_kept_by: ['ho1'] })
    const lost = fleetStatusOf([host('ho1', 2), host('ho2', 1, 'lost')])
    expect(lost).toMatchObject({ protocol: 2, level: 1, level_kept_by: ['ho2'] })
    expect(fleetStatusOf([host('ho1', 2), host('ho2', 2)])).toMatchObject({ level: 2, level_kept_by: [] })
  })

  test('exits 1 on a machine that is in no fleet', async () => {
    const { code, stdout } = await runHolt(['fleet', 'status'], { service })
    expect([code, stdout]).toEqual([1, 'This machine is in no fleet.\n'])
  })
})

describe('join tokens', () => {
  test('fleet token prints the token alone, and says on stderr what it is', async () => {
    const { code, stdout, stderr } = await runHolt(['fleet', 'token', '--ttl', '2h', '--once'], { service })
    expect([code, stdout]).toEqual([0, 'holt-join-1.secret\n'])
    const [id] = [...service.joinTokens.keys()]
    expect(stderr).toContain(`Made ${id}. One worker can join with it until `)
    expect(service.calls.at(-1)).toMatchObject({ route: 'createJoinToken', body: { ttl_secs: 7200, once: true } })
    await runHolt(['fleet', 'token'], { service })
    expect(service.calls.at(-1)).toMatchObject({ body: { ttl_secs: 3600, once: false } })
    const { stdout: json } = await runHolt(['fleet', 'token', '--json'], { service })
    expect(JSON.parse(json)).toMatchObject({ token: 'holt-join-1.secret', once: false, uses: 0 })
  })

  test('fleet token needs a valid time', async () => {
    expect((await runHolt(['fleet', 'token', '--ttl', 'none'], { service })).code).toBe(2)
    expect(service.joinTokens.size).toBe(0)
  })

  test('fleet tokens lists them, and fleet revoke ends them', async () => {
    for (const args of [['--once'], []]) await runHolt(['fleet', 'token', ...args], { service })
    const [first = '', second = ''] = [...service.joinTokens.keys()]
    const { stdout } = await runHolt(['fleet', 'tokens'], { service })
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(rows.map(([id, , joins, uses]) => [id, joins, uses])).toEqual([
      ['TOKEN', 'FOR', 'JOINS'],
      [second, 'any number of joins', '0'],
      [first, 'one join', '0'],
    ])
    expect((await runHolt(['fleet', 'tokens', '-q'], { service })).stdout).toBe(`${second}\n${first}\n`)
    const revoked = await runHolt(['fleet', 'revoke', first, second], { service })
    expect(revoked).toMatchObject({ code: 0, stdout: '', stderr: `Revoked ${first}\nRevoked ${second}\n` })
    expect(service.joinTokens.size).toBe(0)
    const again = await runHolt(['fleet', 'revoke', first], { service })
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('holt fleet tokens')
    expect((await runHolt(['fleet', 'revoke'], { service })).code).toBe(2)
  })
})
