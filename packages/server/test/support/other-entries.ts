import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId, type RouteName } from '@holt/protocol'
import { Chance, seedOf } from '@holt/testkit'
import { expect } from 'vitest'
import { openOwnStore } from '../../src/daemon/open-own-store.ts'
import { newHostRow } from '../../src/foundation/host/host-row.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { createServer, type Server, type ServerConfig, type ServerOptions } from '../../src/index.ts'
import { RecordingGateway } from './recording-gateway.ts'
import { newStateDir } from './test-store.ts'
import { unhurriedFleet } from './unhurried-fleet.ts'

/**
 * The number of hosts that `startTestServer` starts: HOLT_TEST_FLEET. Each request of a test goes
 * to a random one of them, as the seed of the run decides.
 */
export const fleetSize = Number(process.env.HOLT_TEST_FLEET ?? 1)

/** A host of a test: its id, and what lasts when its service starts again. */
interface Machine {
  readonly hostId: string
  readonly stateDir: string
  readonly engine: FakeEngine
}

/** The hosts of each state directory of a test. The first is that of the test itself. */
const machines = new Map<string, { readonly hostId: string; readonly others: readonly Machine[] }>()

/** The parts of a server as a test starts it. */
type Parts = Omit<ServerOptions, 'config'> & { readonly config: ServerConfig; readonly outside: object }

/** The other hosts of a test server. */
export interface OtherEntries {
  /** The options of the first host, which alone gets runtimes. */
  readonly first: ServerOptions
  /** Starts the others. */
  start(): Promise<void>
  /** Returns one of the services, by the seed. A route that needs the first host gets that. */
  pick(first: Server, route: RouteName | null): Server
  /** Ends the others while the first one ends, and then their store. */
  close(first: Promise<void>): Promise<void>
}

/**
 * Returns the other hosts of a test server. They take every request, and forward to the first host
 * what it has to answer: only that host may get runtimes, and it has the engine of the test.
 */
export async function openOtherEntries(options: Parts): Promise<OtherEntries> {
  const { config, log } = options
  const fleet = unhurriedFleet()
  const { hostId, others } = await machinesOf(config.stateDir)
  const store = options.store ?? (await openOwnStore({ ...options, config: { ...config, fleet } }))
  const inFleet = (host: string): Partial<ServerOptions> => ({
    host: { checks: async () => ({ checks: [], checkedAt: Date.now() }), ...options.host, hostId: host },
    onOver: options.onOver ?? ((err) => log.debug({ err }, 'the epoch of a host is over')),
  })
  const fleetConfig = { ...config, fleet, peerAddress: { host: '127.0.0.1', port: 0 } }
  const shared: Store = { ...store, close: async () => {} }
  const chance = new Chance(seedOf(`entries of ${expect.getState().currentTestName ?? ''}`))
  const services: Server[] = []
  return {
    first: { ...options, store: shared, config: fleetConfig, ...inFleet(hostId) },
    start: async () => {
      for (const machine of others) {
        await shareKeys(config.stateDir, machine.stateDir)
        await addCordoned(store, machine.hostId)
        const { stateDir, engine, hostId: host } = machine
        const server = await createServer({
          ...options,
          ...inFleet(host),
          engine,
          store: shared,
          config: { ...fleetConfig, stateDir, e2b: null, tls: null },
          outside: { ...options.outside, gateway: new RecordingGateway() } as NonNullable<ServerOptions['outside']>,
          baseSource: null,
        })
        services.push(server)
      }
    },
    pick: (first, route) => (needsFirst(route) ? first : chance.pick([first, ...services])),
    close: async (first) => {
      await Promise.all([first, ...services.splice(0).map((server) => server.close())])
      await store.close()
    },
  }
}

async function machinesOf(stateDir: string) {
  const known = machines.get(stateDir)
  if (known !== undefined) return known
  const others: Machine[] = []
  while (others.length < fleetSize - 1)
    others.push({ hostId: makeId('host'), stateDir: await newStateDir(), engine: new FakeEngine() })
  const made = { hostId: makeId('host'), others }
  machines.set(stateDir, made)
  return made
}

/** Gives a host the master keys of the fleet, and the key of the first host. */
async function shareKeys(from: string, to: string): Promise<void> {
  for (const name of ['master-keys.json', 'credentials.json']) await copyFile(join(from, name), join(to, name))
}

/** Adds the row of a host that gets no runtimes. */
async function addCordoned({ db }: Store, hostId: string): Promise<void> {
  const host = { hostId, bootId: 'given', version: 'test', at: Date.now() }
  await db
    .insertInto('hosts')
    .values({ ...newHostRow(host), state: 'joining', wanted: 'cordoned' })
    .onConflict((conflict) => conflict.column('host_id').doNothing())
    .execute()
}

/** The routes about one host: what it does, and the files on its disk. */
const ofOneHost: ReadonlySet<RouteName> = new Set(['metrics', 'readiness', 'uploadContext'])

/** Returns true if only the host with the runtimes may answer. */
function needsFirst(name: RouteName | null): boolean {
  return name !== null && ofOneHost.has(name)
}
