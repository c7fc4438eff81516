/** The equivalents of a request: a call of the SDK, and a command. */
interface SameAsRequest {
  readonly call: string
  readonly command: string
}

/** The requests that hints name. An address stands before its own prefixes. */
const requests: Readonly<Record<string, SameAsRequest>> = {
  'GET /v1/agents/snapshot?kind=filesystem': {
    call: "holt.snapshots.list({ kind: 'filesystem' })",
    command: 'holt snapshot ls',
  },
  'GET /v1/agents/template/build': { call: 'holt.builds.list()', command: 'holt template builds' },
  'POST /v1/agents/template/build': { call: 'holt.builds.create()', command: 'holt template build' },
  'POST /v1/agents/template/context': { call: 'holt.builds.uploadContext()', command: 'holt template build' },
  'GET /v1/agents/identity-provider': { call: 'holt.secrets.providers.list()', command: 'holt provider ls' },
  'GET /v1/agents/network-policy': { call: 'holt.policies.list()', command: 'holt policy ls' },
  'GET /v1/agents/runtime': { call: 'holt.runtimes.list()', command: 'holt ls' },
  'GET /v1/agents/template': { call: 'holt.templates.list()', command: 'holt template ls' },
  'GET /v1/agents/snapshot': { call: 'holt.snapshots.list()', command: 'holt snapshot ls' },
  'GET /v1/agents/secret': { call: 'holt.secrets.list()', command: 'holt secret ls' },
  'GET /v1/agents/key': { call: 'holt.keys.list()', command: 'holt key ls' },
  'GET /v1/agents/webhook': { call: 'holt.webhooks.list()', command: 'holt webhook ls' },
  'GET /v1/agents/project': { call: 'holt.projects.list()', command: 'holt project ls' },
  'GET /v1/agents/join-token': { call: 'holt.hosts.listJoinTokens()', command: 'holt fleet tokens' },
  'GET /v1/agents/host': { call: 'holt.hosts.list()', command: 'holt host ls' },
  'POST /v1/agents/project': { call: 'holt.projects.create()', command: 'holt project create' },
}

/** Returns a hint with calls of the SDK, or commands, in place of requests. */
export function nameSameAsRequests(hint: string, kind: keyof SameAsRequest): string {
  return Object.entries(requests).reduce((text, [request, same]) => text.replaceAll(request, same[kind]), hint)
}
