import { expect, test } from 'vitest'
import { readyHost } from '../../../src/fleet/placement/ready-host.ts'
import type { HostDirectory } from '../../../src/foundation/host/host-directory.ts'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import type { HostRow, HostState } from '../../../src/foundation/store/tables.ts'

/** A directory with hosts in given states. Those in `silent` are suspect. */
function directory(states: Readonly<Record<string, HostState>>, silent: readonly string[] = []): HostDirectory {
  const rows = Object.entries(states).map(([hostId, state]) => {
    return { ...newHostRow({ hostId, bootId: 'boot', version: '1.0.0', at: 1 }), state } as HostRow
  })
  return { rows, silentMs: (hostId) => (silent.includes(hostId) ? 20_000 : null) }
}

test.each([
  ['a ready host keeps its creates', directory({ own: 'ready', other: 'ready' }), 'own'],
  ['a cordoned host gives them away', directory({ own: 'cordoned', other: 'ready' }), 'other'],
  ['a host that joins gives them away', directory({ own: 'joining', other: 'ready', lost: 'lost' }), 'other'],
  ['a suspect host gets none', directory({ own: 'cordoned', silent: 'ready', other: 'ready' }, ['silent']), 'other'],
])('%s', (_, hosts, expected) => {
  for (let count = 0; count < 20; count += 1) expect(readyHost(hosts, 'own')).toBe(expected)
})

test('creates are spread over the ready hosts', () => {
  const hosts = directory({ own: 'cordoned', one: 'ready', two: 'ready' })
  const chosen = new Set(Array.from({ length: 200 }, () => readyHost(hosts, 'own')))
  expect(chosen).toEqual(new Set(['one', 'two']))
})

test.each([directory({ own: 'cordoned' }), directory({ own: 'joining', other: 'ready' }, ['other']), directory({})])(
  'without a ready host a create is refused',
  (hosts) => {
    expect(() => readyHost(hosts, 'own')).toThrow('No host of the fleet is ready')
  },
)
