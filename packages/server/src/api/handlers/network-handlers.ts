import type { RuntimeNetwork } from '@holt/protocol'
import { isSet } from '@holt/protocol'
import { findRuntime, refOf } from '../../foundation/rows/find-runtime.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { ifMatchOf } from '../../foundation/wire/if-match.ts'
import { currentPolicy, networkEtag, networkRow } from '../../resources/network/find-network.ts'
import { contentOf } from '../../resources/network/find-policy.ts'
import { logItems } from '../../resources/network/log-items.ts'
import { suggestPolicy } from '../../resources/network/suggest-policy.ts'
import { heldSecrets, presentHeld } from '../../resources/secrets/held-secrets.ts'
import { findAwake } from '../../runtimes/lifecycle/wake.ts'
import { setRuntimeNetwork } from '../../runtimes/settings/set-network.ts'
import type { Api, Handlers } from '../api.ts'

/** The timeout of a test of a policy, in milliseconds. The test resolves a name. */
const testTimeoutMs = 20_000

/** The routes of a runtime's network. */
export const networkHandlers = {
  getNetwork: async ({ service, ref }) => {
    const row = await findRuntime(service, ref)
    return { status: 200, json: await present(service, row) }
  },
  setNetwork: async (call) => {
    const { service, caller, body, headers, ref } = call
    const change = { wanted: body.network_policy, ifMatch: ifMatchOf(headers), by: caller.keyId, gone: call.gone }
    await setRuntimeNetwork(service, ref, change)
    return { status: 200, json: await present(service, await findRuntime(service, ref)) }
  },
  testNetwork,
  readNetworkLog,
  suggestNetwork: async ({ service, ref }) => {
    await findRuntime(service, ref) // Throws if there is none.
    const { db } = service.store
    const policy = await currentPolicy(db, await networkRow(db, ref))
    await service.decisions.flush()
    return {
      status: 200,
      json: await suggestPolicy(service.decisions, ref, {
        current: policy?.body ?? null,
        allowedNetworks: service.config.egress.allowedNetworks,
      }),
    }
  },
} satisfies Partial<Handlers>

/**
 * Returns the gateway's decision for a target. Resolves an allowed name, and sends nothing to the
 * host.
 */
async function testNetwork(call: Call<'testNetwork', Api>): Promise<Answer> {
  const { service, body, gone, ref } = call
  const { runtime_id } = await findAwake(service, ref, gone)
  const egress = service.networks.egressOf(runtime_id)
  if (egress === null) {
    const detail = 'The runtime has no network policy, so it has no network device.'
    return { status: 200, json: { allowed: false, rule: 'no_policy', inspection: null, addresses: [], detail } }
  }
  const { host, port, method, path } = body
  const target = {
    host,
    port,
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
  }
  const { promise: late, reject } = Promise.withResolvers<never>()
  const limit = within(call, testTimeoutMs)
  limit.addEventListener('abort', () => reject(limit.reason), { once: true })
  const tested = await Promise.race([egress.test(target), late])
  const { allowed, rule, inspection, addresses, detail } = tested
  return { status: 200, json: { allowed, rule, inspection, addresses: [...addresses], detail } }
}

async function readNetworkLog({ service, query, gone, ref }: Call<'readNetworkLog', Api>): Promise<Answer> {
  await findRuntime(service, ref) // Throws if there is none.
  const follow = isSet(query.follow)
  const deniedOnly = isSet(query.denied)
  await service.decisions.flush()
  const before = query.since === undefined ? 0 : await service.decisions.cursorBefore(ref, Date.parse(query.since))
  const cursor = Math.max(query.cursor, before)
  return { status: 200, items: logItems(service, ref, { cursor, follow, deniedOnly, gone }) }
}

async function present({ store }: Api, runtime: RuntimeRow): Promise<RuntimeNetwork> {
  const ref = refOf(runtime)
  const row = await networkRow(store.db, ref)
  const [policy, held] = await Promise.all([currentPolicy(store.db, row), heldSecrets(store.db, ref)])
  const secrets = held.map(presentHeld)
  return {
    runtime_id: runtime.runtime_id as RuntimeNetwork['runtime_id'],
    network_policy: policy?.ref ?? null,
    policy:
      policy === null
        ? null
        : contentOf(
            policy.body,
            secrets.filter(({ inside }) => !inside),
          ),
    secrets,
    etag: networkEtag(policy),
    updated_at: moment(row?.updated_at ?? runtime.created_at),
  }
}
