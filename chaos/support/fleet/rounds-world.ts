import type { Chance } from '@holt/testkit'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'
import { seenAs } from '../../../e2e/support/fleet/use-fleet.ts'
import type { Belongings } from '../../../e2e/support/leaks.ts'
import { ask } from '../../../packages/server/test/support/postgres-cluster.ts'
import type { CheckedFleet, KnownEvent } from '../../../packages/server/test/support/rounds/check-books.ts'
import { sharedPolicy } from '../../../packages/server/test/support/rounds/rounds-client.ts'
import { WebhookReceiver } from '../webhook-receiver.ts'
import { type Canaries, makeCanaries } from './canaries.ts'
import { entryOf, patientEntryOf } from './entry-of.ts'
import { mustAsk } from './fleet-client.ts'
import { belongingsOf } from './host-belongings.ts'
import { QuotaWatch } from './quota-watch.ts'

/**
 * The times of the fence and of the verdict, in seconds. A host that works is not silent for that
 * long on a busy machine.
 */
export const roundsTimes = { HOLT_FLEET_FENCE: '24', HOLT_FLEET_VERDICT: '30' }

/** The quota of the clients' project. Its clients want more at times. */
const runtimesMax = 5

/** The time for everything that follows a fault, in milliseconds. */
const patienceMs = 120_000

/** A fleet with a project of clients, and everything that is known from earlier rounds. */
export interface RoundsWorld extends AsyncDisposable {
  readonly fleet: Fleet
  readonly chance: Chance
  /** The key of the clients' project. */
  readonly key: string
  /** The healed fleet, as a check of the project reaches it. */
  readonly checked: CheckedFleet
  readonly watch: QuotaWatch
  readonly canaries: Canaries
  /** The runtimes of the project that earlier rounds have ended. */
  readonly past: Set<string>
  /** The events of the project so far. */
  readonly events: KnownEvent[]
  /** The receiver of all events of the project after the first `unsent` ones. */
  readonly webhook: WebhookReceiver
  readonly unsent: number
  /** The things of each host before the first round. */
  readonly before: ReadonlyMap<FleetHost, Belongings>
  readonly figures: { acknowledged: number; revoked: number; voices: number; woken: number; sent: number }
}

/** Makes the project of the clients, and begins to watch it. */
export async function makeWorld(fleet: Fleet, chance: Chance): Promise<RoundsWorld> {
  const [first] = fleet.hosts as [FleetHost]
  for (const host of fleet.hosts) await seenAs(fleet, host, 'ready')
  const project = { name: 'rounds', quotas: { runtimes: runtimesMax } }
  const { project_id: projectId } = await mustAsk(first, 'POST', '/v1/agents/project', project)
  const scoped = { name: 'rounds', project: projectId, scopes: ['admin'] }
  const { key } = await mustAsk(first, 'POST', '/v1/agents/key', scoped)
  const { server } = entryOf(first, key)
  const policy = { name: sharedPolicy.split('/').at(-1), allow: [{ host: 'first.example' }] }
  const canaries = makeCanaries()
  for (const [path, json] of [
    ['/v1/agents/network-policy', policy],
    ['/v1/agents/secret', { name: 'canary', value: canaries.secret, hosts: ['secret.example'] }],
  ] as const) {
    const made = await server.ask('POST', path, { json })
    if (made.status !== 201) throw new Error(made.text)
  }
  await using undo = new AsyncDisposableStack()
  const webhook = undo.use(await WebhookReceiver.listen(fleet.network.addressOf('outside')))
  const hook = { url: webhook.url, types: ['runtime.*', 'policy.*', 'secret.*', 'key.*'] }
  const made = await server.ask('POST', '/v1/agents/webhook', { json: hook })
  if (made.status !== 201) throw new Error(made.text)
  const unsent = (await server.ask('GET', '/v1/agents/event?limit=100')).json.data.length
  const url = fleet.cluster.url('holt')
  const watch = undo.use(new QuotaWatch(url, { projectId, limit: runtimesMax }))
  const past = new Set<string>()
  const runtimeRows = async () => {
    const rows = await ask(url, `SELECT * FROM runtimes WHERE project_id = '${projectId}' ORDER BY runtime_id`)
    return rows.filter(({ runtime_id }) => !past.has(runtime_id))
  }
  const parts = undo.move()
  return {
    ...{ fleet, chance, key, watch, canaries, past, webhook, unsent },
    checked: { hosts: fleet.hosts.map((host) => patientEntryOf(host, key)), patienceMs, runtimeRows },
    events: [],
    before: new Map(fleet.hosts.map((host) => [host, belongingsOf(host)])),
    figures: { acknowledged: 0, revoked: 0, voices: 0, woken: 0, sent: 0 },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
