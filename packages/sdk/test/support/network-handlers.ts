import {
  type CreatePolicyInput,
  type CreateProvider,
  type CreateSecret,
  HoltError,
  makeId,
  type NetworkLogItem,
  type PolicyBody,
  type ReplacePolicyInput,
  type ReplaceSecret,
  type WantedPolicy,
} from '@holt/protocol'
import { runningOf, runtimeOf } from './named-runtime.ts'
import { now } from './samples.ts'
import type { TestCall, TestService } from './test-service.ts'

type Row = Record<string, unknown>

/** A rule named as the service would, seen as a name alone. */
const contentOf = (body: Partial<PolicyBody>) => {
  const { allow = [], include = [], allow_all_hosts = false, deny = [] } = body
  const inspection = allow.map(({ host, ports }) => ({
    rule: `${host}:${ports}`,
    host,
    ports,
    other_ports: false,
    inspection: 'sni',
    secrets: [],
    unseen: 'What comes after the name.',
  }))
  return { allow, include, allow_all_hosts, deny, inspection }
}

/** A row of a table by id or name. */
function find(
  table: Map<string, Row>,
  text: string | undefined,
  code: ConstructorParameters<typeof HoltError>[0],
): Row {
  const row = table.get(text ?? '') ?? [...table.values()].find(({ name }) => name === text)
  if (row === undefined) throw new HoltError(code, 'No such thing')
  return row
}

function requireFree(table: Map<string, Row>, name: string): void {
  if ([...table.values()].some((row) => row.name === name)) throw new HoltError('name_taken', `${name} is taken`)
}

/** The etag of a row with a number of its version. */
const etagOf = (version: unknown) => `"${String(version)}"`

/** Refuses a change of another version than the present one. */
export function requireMatch({ request }: TestCall, etag: string): void {
  const match = request.headers['if-match']
  if (match !== undefined && match !== '*' && match !== etag)
    throw new HoltError('precondition_failed', `It has changed: it has the etag ${etag}, not ${match}.`)
}

const stamps = () => ({ created_at: now(), updated_at: now() })
const page = (table: Map<string, Row>) => ({
  status: 200,
  json: { data: [...table.values()].map(({ value: _, ...row }) => row).reverse(), next_cursor: null },
})

/** A secret as it is answered: without what the test looks into. */
const shown = ({ value: _, ...row }: Row) => row

function setNetwork(service: TestService, runtime: Row, wanted: WantedPolicy): void {
  const stored = typeof wanted === 'string' ? find(service.policies, wanted, 'policy_not_found') : null
  const inline = wanted === null ? null : { type: 'inline' }
  runtime.network_policy = stored === null ? inline : { type: 'stored', policy_id: stored.policy_id, name: stored.name }
  service.networks.set(String(runtime.runtime_id), stored ?? (wanted as PolicyBody | null))
}

/** The policy and the secrets that a create asks for. */
export function takeNetwork(service: TestService, runtime: Row, body: Row): void {
  setNetwork(service, runtime, (body.network_policy ?? null) as WantedPolicy)
  runtime.secrets = body.secrets ?? []
  for (const name of runtime.secrets as string[]) find(service.secrets, name, 'secret_not_found')
}

const networkEtag = (runtime: Row, body: unknown) =>
  etagOf(btoa(JSON.stringify([runtime.network_policy, body])).slice(-64))

const networkAnswer = ({ service }: TestCall, runtime: Row) => {
  const body = service.networks.get(String(runtime.runtime_id)) ?? null
  return {
    status: 200,
    json: {
      runtime_id: runtime.runtime_id,
      network_policy: runtime.network_policy,
      policy: body === null ? null : contentOf(body as unknown as PolicyBody),
      secrets: [],
      etag: networkEtag(runtime, body),
      updated_at: now(),
    },
  }
}

/** The routes of policies, secrets and networks. */
export const networkHandlers = {
  createPolicy: ({ service, body }: TestCall) => {
    const { name, ...rest } = body as CreatePolicyInput
    requireFree(service.policies, name)
    const row = { policy_id: makeId('policy'), name, ...contentOf(rest as PolicyBody), revision: 1 }
    Object.assign(row, { etag: etagOf(1), ...stamps() })
    service.policies.set(row.policy_id, row)
    return { status: 201, json: row }
  },
  listPolicies: ({ service }: TestCall) => page(service.policies),
  getPolicy: ({ service, params }: TestCall) => ({
    status: 200,
    json: find(service.policies, params.policy_id, 'policy_not_found'),
  }),
  replacePolicy: (call: TestCall) => {
    const row = find(call.service.policies, call.params.policy_id, 'policy_not_found')
    requireMatch(call, String(row.etag))
    const { name = row.name, ...rest } = call.body as ReplacePolicyInput
    const revision = Number(row.revision) + 1
    return {
      status: 200,
      json: Object.assign(row, contentOf(rest as PolicyBody), { name, revision, etag: etagOf(revision) }),
    }
  },
  deletePolicy: ({ service, params }: TestCall) => {
    service.policies.delete(String(find(service.policies, params.policy_id, 'policy_not_found').policy_id))
    return { status: 204 }
  },
  listPresets: () => ({
    status: 200,
    json: { data: [{ name: 'npm', hosts: [{ host: 'registry.npmjs.org', ports: [443], why: 'packages' }] }] },
  }),
  createSecret: ({ service, body }: TestCall) => {
    const {
      name,
      value,
      env,
      env_name,
      hosts = [],
      header = 'authorization',
      format = '{value}',
    } = body as CreateSecret
    requireFree(service.secrets, name)
    const row = {
      secret_id: makeId('secret'),
      name,
      value,
      version: 1,
      provider: null,
      hosts,
      header,
      format,
      env,
      env_name: env_name ?? name.toUpperCase(),
      etag: etagOf(1),
      ...stamps(),
    }
    service.secrets.set(row.secret_id, row)
    return { status: 201, json: shown(row) }
  },
  listSecrets: ({ service }: TestCall) => page(service.secrets),
  getSecret: ({ service, params }: TestCall) => ({
    status: 200,
    json: shown(find(service.secrets, params.secret_id, 'secret_not_found')),
  }),
  replaceSecret: (call: TestCall) => {
    const row = find(call.service.secrets, call.params.secret_id, 'secret_not_found')
    requireMatch(call, String(row.etag))
    const { provider: _, ...change } = call.body as ReplaceSecret
    if ((change.env ?? row.env) !== row.env) throw new HoltError('conflict', 'It cannot change its place')
    const version = Number(row.version) + 1
    return { status: 200, json: shown(Object.assign(row, change, { version, etag: etagOf(version) })) }
  },
  deleteSecret: ({ service, params }: TestCall) => {
    service.secrets.delete(String(find(service.secrets, params.secret_id, 'secret_not_found').secret_id))
    return { status: 204 }
  },
  rotateSecretKey: ({ service }: TestCall) => ({
    status: 200,
    json: { resealed: service.secrets.size, rotated_at: now() },
  }),
  createProvider: ({ service, body }: TestCall) => {
    const { name, ...settings } = body as CreateProvider
    requireFree(service.providers, name)
    const row = { provider_id: makeId('provider'), name, settings, version: 1, last_error: null }
    Object.assign(row, { etag: etagOf(1), ...stamps() })
    service.providers.set(row.provider_id, row)
    return { status: 201, json: row }
  },
  listProviders: ({ service }: TestCall) => page(service.providers),
  getProvider: ({ service, params }: TestCall) => ({
    status: 200,
    json: find(service.providers, params.provider_id, 'provider_not_found'),
  }),
  replaceProvider: (call: TestCall) => {
    const row = find(call.service.providers, call.params.provider_id, 'provider_not_found')
    requireMatch(call, String(row.etag))
    const version = Number(row.version) + 1
    return { status: 200, json: Object.assign(row, { settings: call.body, version, etag: etagOf(version) }) }
  },
  deleteProvider: ({ service, params }: TestCall) => {
    service.providers.delete(String(find(service.providers, params.provider_id, 'provider_not_found').provider_id))
    return { status: 204 }
  },
  openIdConfiguration: ({ service }: TestCall) => ({
    status: 200,
    json: {
      issuer: service.url,
      jwks_uri: `${service.url}/.well-known/jwks.json`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      claims_supported: ['sub'],
    },
  }),
  jsonWebKeys: () => ({ status: 200, json: { keys: [] } }),
  getNetwork: (call: TestCall) => networkAnswer(call, runtimeOf(call)),
  setNetwork: (call: TestCall) => {
    const runtime = runningOf(call)
    requireMatch(call, networkEtag(runtime, call.service.networks.get(String(runtime.runtime_id)) ?? null))
    setNetwork(call.service, runtime, (call.body as { network_policy: WantedPolicy }).network_policy)
    return networkAnswer(call, runtime)
  },
  testNetwork: (call: TestCall) => {
    const { host, port } = call.body as { host: string; port: number }
    const body = call.service.networks.get(String(runningOf(call).runtime_id)) as unknown as
      | PolicyBody
      | null
      | undefined
    const rule = body?.allow.find((one) => one.host === host && one.ports.includes(port))
    const isPrivate = host.startsWith('10.')
    const denied = isPrivate ? 'non_public' : 'no_rule'
    const json = {
      allowed: rule !== undefined && !isPrivate,
      rule: rule === undefined || isPrivate ? denied : `${host}:${port}`,
      inspection: null,
      addresses: [],
      detail: rule === undefined ? 'No rule allows it.' : 'Allowed.',
    }
    return { status: 200, json }
  },
  readNetworkLog: ({ service, query, response }: TestCall) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const after = Number(query.cursor)
    const since = query.since === undefined ? 0 : Date.parse(String(query.since))
    const isOlder = (item: NetworkLogItem) => 'at' in item && Date.parse(item.at) < since
    for (const item of service.decisions.filter((item) => item.cursor > after && !isOlder(item))) {
      if (response.locals !== undefined && response.locals.itemsLeft-- === 0) {
        response.destroy()
        return undefined
      }
      response.write(`event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`)
    }
    response.end()
    return undefined
  },
  suggestNetwork: () => {
    const add = [{ host: 'api.example.com', ports: [443] }]
    const policy = { allow: add, include: [], allow_all_hosts: false, deny: [] }
    const remarks = [{ host: '10.0.0.1', message: 'is not public' }]
    return { status: 200, json: { add, policy, remarks, denied: 2 } }
  },
}
