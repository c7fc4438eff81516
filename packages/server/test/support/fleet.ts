import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CertifiedKey } from '@holt/egress'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId } from '@holt/protocol'
import type { KyselyPlugin } from 'kysely'
import { onTestFinished, vi } from 'vitest'
import { noEngine } from '../../src/daemon/machine/no-engine.ts'
import { openOwnStore } from '../../src/daemon/open-own-store.ts'
import { HostCertificate, signHostCertificate } from '../../src/fleet/peers/host-certificate.ts'
import { openPeerAuthority, sealedPlace } from '../../src/fleet/peers/peer-authority.ts'
import type { WorkerIdentity } from '../../src/fleet/trust/worker-identity.ts'
import type { ServerConfig } from '../../src/foundation/config/config.ts'
import type { FleetConfig } from '../../src/foundation/config/fleet-settings.ts'
import { newHostRow } from '../../src/foundation/host/host-row.ts'
import { openMasterKeys } from '../../src/foundation/sealing/master-keys.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import type { HostRow } from '../../src/foundation/store/tables.ts'
import { parseConfig, type ServerOptions } from '../../src/index.ts'
import { type FakeObjects, fakeArtifacts } from './fake-artifacts.ts'
import { RecordingGateway } from './recording-gateway.ts'
import { keepingLog, startTestServer, type TestServer, tinySource } from './start-test-server.ts'
import { newStateDir } from './test-store.ts'

/** Times of a fleet by a clock that the tests set. Only beats are in real time. */
const fleetTimes: FleetConfig = {
  beatMs: 10,
  suspectMs: 15_000,
  fenceMs: 240_000,
  verdictMs: 300_000,
  readGapMs: 10_000,
  dutyMs: 30_000,
  role: 'all',
  joinTokenFile: null,
  joinAddress: null,
  snapshotDurable: 'stored',
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

/** The parts of a host that tests set, and the object store that it shares with others. */
export type HostOptions = Partial<Omit<ServerOptions, 'engine' | 'config'>> & {
  readonly engine?: FakeEngine
  readonly config?: Partial<ServerConfig>
  readonly objects?: FakeObjects
  /**
   * The wall clock at 0 of the host's `clock`, with which it goes on. Default: the machine's, which
   * goes on while `clock` stands still.
   */
  readonly begunAt?: number
  readonly role?: FleetConfig['role']
  /** Lets a worker join as its daemon does, with a role of its own in the database. */
  readonly join?: (machine: { readonly hostId: string; readonly stateDir: string }) => Promise<WorkerIdentity>
}

/** The host's own parts, which stay when its service starts again. */
interface Machine {
  readonly hostId: string
  readonly stateDir: string
  readonly engine: FakeEngine
  readonly clock: { ms: number }
}

/** A store that the hosts of a test share: an open one, or the address of a database. */
type SharedStore = Store | { readonly url: string }

/** The state directory whose master keys the hosts of a test share, by their store. */
const keyDirs = new WeakMap<object, string>()

/**
 * Starts a host over a store that several hosts share. A worker starts after a host with keys, and
 * gets none of them.
 */
export async function startHost(store: SharedStore, options: HostOptions = {}): Promise<TestHost> {
  const { engine = new FakeEngine() } = options
  const machine = { hostId: makeId('host'), stateDir: await newStateDir(), engine, clock: { ms: 0 } }
  const keyDir = keyDirs.get(store)
  const keyFile = 'master-keys.json'
  if (options.join !== undefined) {
    const worker = await options.join(machine)
    return startOn(machine, { url: worker.databaseUrl }, { ...options, worker })
  }
  if (options.role === 'worker') {
    if ('url' in store) throw new Error('a worker of a test needs an open store')
    // As the front does to which it joins.
    const row = newHostRow({ hostId: machine.hostId, bootId: '', version: 'a test', at: Date.now() })
    await store.db
      .insertInto('hosts')
      .values({ ...row, state: 'joining', address: '127.0.0.1:1', trust: 'worker' })
      .execute()
    return startOn(machine, store, { ...options, worker: await workerIdentity(store, machine.hostId) })
  }
  if (keyDir === undefined) {
    await openMasterKeys(machine.stateDir, { now: Date.now() })
    keyDirs.set(store, machine.stateDir)
  } else await copyFile(join(keyDir, keyFile), join(machine.stateDir, keyFile))
  return startOn(machine, store, options)
}

async function startOn(
  machine: Machine,
  store: SharedStore,
  { objects, join: _, ...options }: HostOptions,
): Promise<TestHost> {
  const { hostId, stateDir, engine, clock } = machine
  const config = {
    ...parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0' }),
    ...options.config,
    stateDir,
    databaseUrl: 'url' in store ? store.url : null,
    fleet: { ...fleetTimes, role: options.role ?? 'all' },
    peerAddress: { host: '127.0.0.1', port: 0 },
  }
  const { begunAt, now = begunAt === undefined ? Date.now : () => begunAt + clock.ms } = options
  const cable = { isCut: false }
  const through = 'url' in store ? await ownStore({ config, engine }, cable) : overCable(store, cable)
  if (options.artifactWays === undefined) {
    // One host makes the base templates, and images do not travel here.
    await using tree = await tinySource.make({ onProgress: () => {}, signal: AbortSignal.timeout(5_000) })
    await engine.ability('images')?.import(tree.tar, AbortSignal.timeout(5_000), {})
  }
  const overs: Error[] = []
  const gateway = new RecordingGateway()
  const nowhere = () => Promise.reject(new Error('nothing is outside'))
  const { dialWebhook = nowhere } = options.outside ?? {}
  const server = await startTestServer(
    {
      // A test knows where its runtimes are, unless it is about placement.
      places: 'own',
      ...options,
      engine: options.role === 'front' ? noEngine : engine,
      store: through,
      ...(objects === undefined ? {} : { artifacts: fakeArtifacts(objects, { hostId, engine, store: through }) }),
      host: { hostId, checks: async () => ({ checks: [], checkedAt: Date.now() }) },
      hostClock: { bootId: 'given', uptime: () => clock.ms },
      monotonic: () => clock.ms,
      now,
      onOver: (error) => void overs.push(error),
      outside: { gateway, dialTls: nowhere, dialWebhook, registryNetwork: { connect: nowhere } },
      config,
    },
    stateDir,
  )
  const host: TestHost = {
    ...{ hostId, server, engine, gateway, clock, cable, overs },
    restart: async () => {
      await server.close()
      return startOn(machine, store, { ...options, ...(objects === undefined ? {} : { objects }) })
    },
  }
  onTestFinished(() => server.close())
  return host
}

/** Lets a test find the master keys of a front by an open store over the same database. */
export function shareKeys(from: SharedStore, store: Store): void {
  const keyDir = keyDirs.get(from)
  if (keyDir !== undefined) keyDirs.set(store, keyDir)
}

/** Returns the authority of the fleet over a store. A front has to start first. */
export async function authorityOf(store: Store): Promise<CertifiedKey> {
  const keyDir = keyDirs.get(store)
  if (keyDir === undefined) throw new Error('a front has to start first')
  return openPeerAuthority(sealedPlace(store, await openMasterKeys(keyDir, { now: Date.now() })))
}

/** Returns the certificate of a worker, as a front signs it. */
export async function workerCertificate(store: Store, hostId: string): Promise<HostCertificate> {
  const authority = await authorityOf(store)
  const sign = () => signHostCertificate(authority, hostId, 'worker')
  return HostCertificate.keep({ trust: 'worker', sign, log: keepingLog().log })
}

/** Returns the identity of a worker that shares an open store with a front. */
async function workerIdentity(store: Store, hostId: string): Promise<WorkerIdentity> {
  const authority = await authorityOf(store)
  const sign = () => signHostCertificate(authority, hostId, 'worker')
  return { credentials: await sign(), databaseUrl: '', keep: sign }
}

/** Opens the store of a host as its daemon does. It closes with its service. */
async function ownStore(parts: Pick<ServerOptions, 'config' | 'engine'>, cable: TestHost['cable']): Promise<Store> {
  const store = await openOwnStore({ ...parts, log: keepingLog().log })
  return { ...overCable(store, cable), close: () => store.close() }
}

/** Returns the store over a cable. Closing it leaves the store open for the other hosts. */
function overCable(store: Store, cable: { readonly isCut: boolean }): Store {
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

/** Returns the row of a host. */
export function hostRow(store: Pick<Store, 'db'>, { hostId }: Pick<TestHost, 'hostId'>): Promise<HostRow> {
  return store.db.selectFrom('hosts').selectAll().where('host_id', '=', hostId).executeTakeFirstOrThrow()
}

/** Waits until a host has sent some more beats, so that it has looked at the others. */
export async function beatsOf(store: Pick<Store, 'db'>, host: TestHost): Promise<void> {
  const { beat } = await hostRow(store, host)
  await vi.waitUntil(async () => (await hostRow(store, host)).beat >= beat + 3, { timeout: 20_000, interval: 5 })
}

/** Lets time pass for hosts, in steps in which each of `beating` sends beats. */
export async function pass(
  ms: number,
  {
    store,
    hosts,
    beating,
  }: { readonly store: Store; readonly hosts: readonly TestHost[]; readonly beating: readonly TestHost[] },
): Promise<void> {
  for (let left = ms; left > 0; left -= 8_000) {
    for (const { clock } of hosts) clock.ms += Math.min(left, 8_000)
    for (const host of beating) await beatsOf(store, host)
  }
}
