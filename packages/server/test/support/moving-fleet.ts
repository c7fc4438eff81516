import { expect, vi } from 'vitest'
import type { Store } from '../../src/foundation/store/open-store.ts'
import type { RuntimeRow } from '../../src/foundation/store/tables.ts'
import { FakeObjects } from './fake-artifacts.ts'
import { type HostOptions, pass, startHost, type TestHost } from './fleet.ts'
import { fleetStores } from './fleet-stores.ts'
import { inside } from './inside.ts'

export const runtimePath = '/v1/agents/runtime'

/** The longest wait for a condition, in milliseconds. */
export const patience = { timeout: 30_000, interval: 10 }

/** Hosts over one store and one object store. */
export interface MovingFleet {
  readonly store: Store
  readonly objects: FakeObjects
  readonly hosts: readonly TestHost[]
}

/** Opens a store that hosts in one process share: SQLite, where no test needs another. */
function openShared(): Promise<Store> {
  const [[, open]] = fleetStores as [(typeof fleetStores)[number]]
  return open()
}

/** Starts hosts that know each other. */
export async function startMovingFleet(
  size: number,
  { store, optionsOf = () => ({}) }: { readonly store?: Store; readonly optionsOf?: (at: number) => HostOptions } = {},
): Promise<MovingFleet> {
  const shared = store ?? (await openShared())
  const objects = new FakeObjects()
  const hosts: TestHost[] = []
  while (hosts.length < size) hosts.push(await startHost(shared, { ...optionsOf(hosts.length), objects }))
  await pass(1, { store: shared, hosts, beating: hosts })
  return { store: shared, objects, hosts }
}

/** Returns the row of a runtime. */
export function rowOf({ store }: Pick<MovingFleet, 'store'>, id: string): Promise<RuntimeRow> {
  return store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', id).executeTakeFirstOrThrow()
}

/** Returns a runtime as a host shows it. */
export async function shown({ server }: TestHost, id: string) {
  return (await server.ask('GET', `${runtimePath}/${id}`)).json
}

/** Waits until a paused runtime belongs to no host. */
export async function belongsToNone(fleet: Pick<MovingFleet, 'store'>, id: string): Promise<void> {
  await vi.waitUntil(async () => (await rowOf(fleet, id)).host_id === null, patience)
}

/** Makes a runtime on a host, with a file in it. */
export async function makeWithFile(host: TestHost, body: object = {}): Promise<string> {
  const id = await host.server.makeRuntime(body)
  await inside(host.server).write(id, '/workspace/a', `content of ${id}`)
  return id
}

/** Expects the file of a runtime through a host. */
export async function expectFile(host: TestHost, id: string): Promise<void> {
  expect(await inside(host.server).read(id, '/workspace/a')).toBe(`content of ${id}`)
}

/** Pauses a runtime through a host. */
export async function pauseAt({ server }: TestHost, id: string): Promise<void> {
  const paused = await server.ask('POST', `${runtimePath}/${id}/pause`)
  expect([paused.status, paused.json.state]).toEqual([200, 'paused'])
}
