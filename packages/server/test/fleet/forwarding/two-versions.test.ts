import { expect, test } from 'vitest'
import { hostProtocol, levelOf } from '../../../src/fleet/peers/protocol-range.ts'
import { startTestFleet } from '../../support/test-fleet.ts'
import { linksOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'

const { max } = hostProtocol
const before = { min: 1, max: max - 1 }

test.each([
  ['an older owner', [before, hostProtocol]],
  ['an older entry', [hostProtocol, before]],
  ['a newer owner', [{ min: max, max: max + 1 }, hostProtocol]],
  ['a newer entry', [hostProtocol, { min: max - 1, max: max + 3 }]],
])('%s answers requests, uploads and streams of another version', async (_, protocols) => {
  const { entry, owner, path, runtimeId } = await startTestFleet({ protocols })
  const run = { argv: ['echo', 'through'] }
  expect((await entry.ask('POST', `${path}/commands`, { json: run })).json).toMatchObject({ stdout: 'through\n' })
  expect((await entry.ask('PUT', `${path}/files/content?path=/tmp/a`, { body: 'bytes' })).status).toBe(201)
  expect((await entry.ask('GET', `${path}/files/content?path=/tmp/a`)).text).toBe('bytes')
  expect(owner.engine.guest(runtimeId)).not.toBeNull()
})

test.each([
  ['an older host', before, max - 1],
  ['a host of this version', hostProtocol, max],
  ['a newer host', { min: max, max: max + 4 }, max],
])('%s is spoken to in the highest version that both know', async (_, protocol, expected) => {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const versions: unknown[] = []
  const { hostId, port } = await startListener(authority, directory, async ({ stream, headers }) => {
    versions.push(headers['holt-protocol'])
    stream.respond({ ':status': 404 }, { endStream: true })
  })
  directory.put(hostId, port, { protocol })
  const links = await linksOf(authority, directory)
  await links.open(hostId, 'small', { headers: { ':protocol': 'test' }, signal: never })
  await links.get(hostId, 'bytes', { path: '/peer/x', signal: never })
  expect(versions).toEqual([String(expected), String(expected)])
})

test('a host without a version in common is unreachable', async () => {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const { hostId, port } = await startListener(authority, directory, async () => {})
  directory.put(hostId, port, { protocol: { min: max + 1, max: max + 2 } })
  const links = await linksOf(authority, directory)
  const opened = links.open(hostId, 'small', { headers: { ':protocol': 'test' }, signal: never })
  await expect(opened).rejects.toThrow('no version of the protocol')
})

test.each([
  [[], null],
  [[['ready', 0]], null],
  [
    [
      ['ready', 2],
      ['cordoned', 3],
    ],
    2,
  ],
  [
    [
      ['ready', 2],
      ['lost', 1],
    ],
    1,
  ],
  [
    [
      ['ready', 2],
      ['gone', 1],
      ['joining', 3],
    ],
    2,
  ],
] as const)('the level of the hosts %j is %s', (hosts, level) => {
  expect(levelOf(hosts.map(([state, protocol_max]) => ({ state, protocol_max })))).toBe(level)
})
