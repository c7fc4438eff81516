import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Cluster, startCluster } from '../../../packages/server/test/support/postgres-cluster.ts'
import { service } from '../facts.ts'
import { mainFile, nodeBinary, type Settings, serviceEnvironment } from '../service-process.ts'
import { FleetHost } from './fleet-host.ts'
import { FleetNetwork, type Place } from './fleet-network.ts'
import { Outside, outsideName } from './outside.ts'
import { type ObjectsKind, type SharedObjects, shareObjects } from './shared-objects.ts'

/** The shortest times that the settings allow, in seconds. */
const times = {
  HOLT_FLEET_SUSPECT: '10',
  HOLT_FLEET_FENCE: '12',
  HOLT_FLEET_VERDICT: '15',
  HOLT_FLEET_DUTY: '10',
}

/** Starts the hosts of a fleet, whose state directories are filled. */
export type BeginHosts = (
  parts: Pick<Fleet, 'hosts'> & {
    /** A directory for files of the fleet. */
    readonly dir: string
  },
) => Promise<void>

const startAll: BeginHosts = async ({ hosts }) => {
  for (const host of hosts) await host.start()
}

/** A fleet of real daemons on this machine, with a database and an outside of its own. */
export interface Fleet extends AsyncDisposable {
  readonly hosts: readonly FleetHost[]
  readonly network: FleetNetwork
  readonly cluster: Cluster
  readonly outside: Outside
  readonly objects: SharedObjects
}

/**
 * Starts hosts in namespaces of their own over one PostgreSQL. The fleet begins as an operator
 * begins one: with an export of the service under test, whose templates all hosts get. `begin`
 * starts the hosts. Default: one after another, as equal ones.
 */
export async function startFleet(
  size: number,
  kind: ObjectsKind = 'a directory',
  more: Settings = {},
  begin: BeginHosts = startAll,
): Promise<Fleet> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-fleet-'))
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rm(dir, { recursive: true, force: true }))
  const network = undo.use(await FleetNetwork.make(size))
  const listen = { namespace: network.namespaceOf('database'), address: network.addressOf('database') }
  const cluster = undo.use(await startCluster({ durable: true, listen }))
  await cluster.run('CREATE DATABASE holt')
  const outside = undo.use(await Outside.listen(network.addressOf('outside')))
  const objects = undo.use(await shareObjects(kind, { dir: join(dir, 'objects'), network }))
  const settings = { ...settingsOf({ objects, network, outside }), ...more }
  const hosts = Array.from({ length: size }, (_, index): FleetHost => {
    const place: Place = `host-${index + 1}`
    return new FleetHost({ place, network, dir: join(dir, place), settings })
  })
  undo.defer(() => endHosts(hosts))
  await fill(hosts, dir)
  await begin({ hosts, dir })
  const parts = undo.move()
  return { hosts, network, cluster, outside, objects, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

function settingsOf({
  objects,
  network,
  outside,
}: {
  readonly objects: SharedObjects
  readonly network: FleetNetwork
  readonly outside: Outside
}): Settings {
  return {
    ...times,
    ...objects.settings,
    HOLT_FLEET: '1',
    HOLT_DATABASE_URL: `postgres://holt@${network.addressOf('database')}/holt`,
    HOLT_EGRESS_ALLOWED_NETWORKS: network.range,
    HOLT_EGRESS_OVERRIDES: `${outsideName}:80=${network.addressOf('outside')}:${outside.port}`,
  }
}

/**
 * Gives the hosts the rows and files of the service under test: the first one gets the rows, and
 * all get the images and checkpoints of its templates.
 */
async function fill(hosts: readonly FleetHost[], dir: string): Promise<void> {
  const rows = join(dir, 'store.jsonl')
  const env = serviceEnvironment(service.port)
  await promisify(execFile)(nodeBinary(), [mainFile, 'export', rows], { cwd: '/', env, timeout: 60_000 })
  for (const host of hosts) {
    await host.prepare()
    await copyFile(join(service.stateDir, 'master-keys.json'), join(host.stateDir, 'master-keys.json'))
    for (const name of ['images', 'checkpoints'])
      await cp(join(service.stateDir, name), join(host.stateDir, name), { recursive: true, preserveTimestamps: true })
  }
  await hosts[0]?.run(['import', rows])
}

/** Ends the hosts and their runtimes. */
async function endHosts(hosts: readonly FleetHost[]): Promise<void> {
  for (const host of hosts) {
    await host.kill()
    await host.run(['purge'])
  }
}
