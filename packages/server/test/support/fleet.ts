import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId } from '@holt/protocol'
import type { KyselyPlugin } from 'kysely'
import { onTestFinished } from 'vitest'
import type { FleetConfig } from '../../src/foundation/config/fleet-settings.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { parseConfig, type ServerOptions } from '../../src/index.ts'
import { RecordingGateway } from './recording-gateway.ts'
import { startTestServer, type TestServer, tinySource } from './start-test-server.ts'
import { newStateDir } from './test-store.ts'

/** Times of a fleet by a clock that the tests set. Only beats are in real time. */
const fleetTimes: FleetConfig = {
  beatMs: 10,
  suspectMs: 15_000,
  fenceMs: 240_000,
  verdictMs: 300_000,
  readGapMs: 10_000,
  dutyMs: 30_000,
}

/** A host of a fleet in this process, with clocks and a way to the store of its own. */
export interface TestHost {
  readonly hostId: string
  readonly server: TestServer
  readonly engine: FakeEngine
  readonly gateway: RecordingGateway
  /** The clocks of the host, in milliseconds: both count the same. */
  readonly clock: { ms: number }
  /** True while the host cannot reach the store. */
  readonly cable: { isCut: boolean }
  /** The errors by which the epoch of the host ended. */
  readonly overs: Error[]
  /** Ends the service and starts it again, over the same engine and state directory. */
  restart(): Promise<TestHost>
}

/** The host's own parts, which stay when its service starts again. */
interface Machine {
  readonly hostId: string
  readonly stateDir: string
  readonly engine: FakeEngine
  readonly clock: { ms: number }
}

/** Starts a host over a store that several hosts share. */
export async function startHost(store: Store, options: Partial<ServerOptions> = {}): Promise<TestHost> {
  const machine = { hostId: makeId('host'), stateDir: await newStateDir(), engine: new FakeEngine(), clock: { ms: 0 } }
  // One host makes the base templates, and images do not travel here.
  await using tree = await tinySource.make({ onProgress: () => {}, signal: AbortSignal.timeout(5_000) })
  await machine.engine.ability('images')?.import(tree.tar, AbortSignal.timeout(5_000), {})
  return startOn(machine, store, options)
}

async function startOn(machine: Machine, store: Store, options: Partial<ServerOptions>): Promise<TestHost> {
  const { hostId, stateDir, engine, clock } = machine
  const cable = { isCut: false }
  const overs: Error[] = []
  const gateway = new RecordingGateway()
  const nowhere = () => Promise.reject(new Error('nothing is outside'))
  const server = await startTestServer(
    {
      ...options,
      engine,
      store: through(store, cable),
      host: { hostId, checks: async () => ({ checks: [], checkedAt: Date.now() }) },
      hostClock: { bootId: 'given', uptime: () => clock.ms },
      monotonic: () => clock.ms,
      now: Date.now,
      onOver: (error) => void overs.push(error),
      outside: { gateway, dialTls: nowhere, dialWebhook: nowhere, registryNetwork: { connect: nowhere } },
      config: {
        ...parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0' }),
        ...options.config,
        fleet: fleetTimes,
      },
    },
    stateDir,
  )
  const host: TestHost = {
    ...{ hostId, server, engine, gateway, clock, cable, overs },
    restart: async () => {
      await server.close()
      return startOn(machine, store, options)
    },
  }
  onTestFinished(() => server.close())
  return host
}

/** Returns the store over a cable. Closing it leaves the store open for the other hosts. */
function through(store: Store, cable: { readonly isCut: boolean }): Store {
  const requireCable = () => {
    if (cable.isCut) throw new Error('the cable is cut')
  }
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      requireCable()
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return {
    ...store,
    db: store.db.withPlugin(plugin),
    change: async (alone, run, options) => {
      requireCable()
      return store.change(alone, run, options)
    },
    close: async () => {},
  }
}
