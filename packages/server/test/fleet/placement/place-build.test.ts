import { HoltError } from '@holt/protocol'
import { expect, test } from 'vitest'
import { buildHosts, placeBuild } from '../../../src/fleet/placement/place-build.ts'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import type { HostRow } from '../../../src/foundation/store/tables.ts'

const ids = ['a', 'b', 'c', 'd', 'e']

function rowsOf(more: Readonly<Record<string, Partial<HostRow>>> = {}): readonly HostRow[] {
  return ids.map((hostId) => {
    const row = newHostRow({ hostId, bootId: 'x', version: '1', at: 0 }) as HostRow
    return { ...row, ...more[hostId] }
  })
}

const parts = (rows: readonly HostRow[], silent: string | null = null) => ({
  hosts: { rows, silentMs: (hostId: string) => (hostId === silent ? 1 : null) },
  ownHostId: 'a',
  homeKey: 'pr app',
})

const full = () => new HoltError('capacity_exhausted', 'Full.')

test('a build goes to hosts that are ready, heard of, and can build', () => {
  const cannot = JSON.stringify({ isolation: { gvisor: { available: false } } })
  const can = JSON.stringify({ isolation: { gvisor: { available: false }, container: { available: true } } })
  const rows = rowsOf({ b: { state: 'cordoned' }, c: { facts_json: cannot }, d: { facts_json: can } })
  expect([...buildHosts(parts(rows, 'e'))].sort()).toEqual(['a', 'd'])
})

test('a host that refuses is left out, and three are tried at most', async () => {
  const order = buildHosts(parts(rowsOf()))
  expect([...order].sort()).toEqual(ids)
  const tried: string[] = []
  const ways = (room: string | undefined) => {
    const at = async (hostId: string) => {
      tried.push(hostId)
      if (hostId !== room) throw full()
      return hostId
    }
    return { here: () => at('a'), there: at }
  }
  expect(await placeBuild(parts(rowsOf()), ways(order[2]))).toBe(order[2])
  expect(tried).toEqual(order.slice(0, 3))
  tried.length = 0
  await expect(placeBuild(parts(rowsOf()), ways(order[3]))).rejects.toMatchObject({ code: 'capacity_exhausted' })
  expect(tried).toEqual(order.slice(0, 3))
})

test('another error is the answer, and a fleet without a ready host says so', async () => {
  const fail = async () => {
    throw new HoltError('name_taken', 'No.')
  }
  await expect(placeBuild(parts(rowsOf()), { here: fail, there: fail })).rejects.toMatchObject({ code: 'name_taken' })
  const facts_json = JSON.stringify({ isolation: { gvisor: { available: false } } })
  const unable = rowsOf(Object.fromEntries(ids.map((id) => [id, { facts_json }])))
  const refused = placeBuild(parts(unable), { here: fail, there: fail })
  await expect(refused).rejects.toMatchObject({ code: 'not_supported_here' })
  const none = rowsOf(Object.fromEntries(ids.map((id) => [id, { state: 'cordoned' as const }])))
  await expect(placeBuild(parts(none), { here: fail, there: fail })).rejects.toMatchObject({ code: 'unavailable' })
})
