import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { addMasterKey } from '../../../src/foundation/sealing/master-key-file.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { beatsOf, hostRow, startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { openTestStore } from '../../support/test-store.ts'

const route = '/v1/agents/secret-key/rotate'
const patience = { timeout: 30_000, interval: 10 }
const fileOf = ({ server }: TestHost) => join(server.stateDir, 'master-keys.json')
const idsOf = async (host: TestHost): Promise<string[]> =>
  JSON.parse(await readFile(fileOf(host), 'utf8')).keys.map(({ id }: { id: string }) => id)

/** Two hosts with a new key in the file of the first one, and a secret. */
async function hostsAndKeys(store: Store) {
  const hosts = [await startHost(store), await startHost(store)] as const
  const [one] = hosts
  const [older = ''] = await idsOf(one)
  await one.server.ask('POST', '/v1/agents/secret', { json: { name: 'openai', value: 'of-the-secret' } })
  const newer = await addMasterKey(fileOf(one), 1)
  return { hosts, older, newer }
}

/** Returns the ids of the keys that seal values. */
async function sealedWith(store: Store): Promise<readonly string[]> {
  const rows = await store.db.selectFrom('sealed_values').select('master_key_id').distinct().execute()
  return rows.map(({ master_key_id }) => master_key_id)
}

/** Waits until a host has reported keys. The first one seals. */
async function reports(store: Store, host: TestHost, keyIds: readonly string[]): Promise<void> {
  await vi.waitUntil(async () => (await hostRow(store, host)).key_ids === keyIds.join(','), patience)
}

/** Returns the value of a secret as the gateway of a host gets it. */
async function valueAt(host: TestHost): Promise<string | undefined> {
  const id = await host.server.makeRuntime({ network_policy: { include: ['openai'] }, secrets: ['openai'] })
  const [secret] = host.gateway.of(id)?.options.secrets ?? []
  return (await secret?.value())?.value
}

test('one host of a fleet does not replace the master key of all', async () => {
  const store = await openTestStore()
  const [one, two] = [await startHost(store), await startHost(store)]
  const keysOf = (at: TestHost) => readFile(fileOf(at), 'utf8')
  const before = await keysOf(one)
  const { status, json } = await one.server.ask('POST', route)
  expect([status, json.error.hint]).toEqual([409, expect.stringContaining('holtd master-key')])
  expect([await keysOf(one), await keysOf(two)]).toEqual([before, before])
})

test.each(fleetStores)('over %s a key that all hosts have seals every value', async (_, open) => {
  const store = await open()
  const { hosts, older, newer } = await hostsAndKeys(store)
  const [one, two] = hosts
  await reports(store, one, [older, newer])
  // The other host could not open what the new key seals.
  await one.server.ask('POST', '/v1/agents/secret', { json: { name: 'another', value: 'of-another' } })
  expect(await sealedWith(store)).toEqual([older])
  const refused = await one.server.ask('POST', route)
  expect([refused.status, refused.json.error.details.hosts]).toEqual([409, [two.hostId]])

  await copyFile(fileOf(one), fileOf(two))
  for (const host of hosts) await reports(store, host, [newer, older])
  await vi.waitUntil(async () => (await sealedWith(store)).every((id) => id === newer), patience)
  await vi.waitUntil(async () => (await one.server.ask('POST', route)).status === 200, patience)
  for (const host of hosts) {
    const { keys } = JSON.parse(await readFile(fileOf(host), 'utf8'))
    await writeFile(fileOf(host), JSON.stringify({ keys: keys.slice(1) }))
    await reports(store, host, [newer])
  }
  for (const host of hosts) expect(await valueAt(host)).toBe('of-the-secret')
})

test('a key that is removed too early still opens its values', async () => {
  const store = await openTestStore()
  const { hosts, older, newer } = await hostsAndKeys(store)
  const [one] = hosts
  await reports(store, one, [older, newer])
  const { keys } = JSON.parse(await readFile(fileOf(one), 'utf8'))
  await writeFile(fileOf(one), JSON.stringify({ keys: keys.slice(1) }))
  const isLogged = () => one.server.logged.some(({ message }) => message.includes('the file lacks'))
  await vi.waitUntil(isLogged, patience)
  expect(await valueAt(one)).toBe('of-the-secret')
})

test('a host whose file is damaged or gone keeps its keys', async () => {
  const store = await openTestStore()
  const { hosts } = await hostsAndKeys(store)
  const [one] = hosts
  await writeFile(fileOf(one), 'no keys')
  const isLogged = () => one.server.logged.some(({ message }) => message.includes('cannot be read again'))
  await vi.waitUntil(isLogged, patience)
  await beatsOf(store, one)
  expect(await valueAt(one)).toBe('of-the-secret')
})
