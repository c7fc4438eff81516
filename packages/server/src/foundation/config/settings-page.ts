import { z } from 'zod'
import { settings } from './config.ts'

/** A table of the page. `shown` has the defaults that are not values, by name. */
interface Group {
  readonly title: string
  readonly names: readonly string[]
  readonly shown?: Readonly<Record<string, string>>
}

const groups: readonly Group[] = [
  {
    title: 'Service',
    names: [
      'HOLT_STATE_DIR',
      'HOLT_RUN_DIR',
      'HOLT_HOST',
      'HOLT_PORT',
      'HOLT_ALLOW_REMOTE',
      'HOLT_PORT_DOMAIN',
      'HOLT_TRUSTED_PROXIES',
      'HOLT_MCP_HOSTS',
      'HOLT_CONSOLE',
      'HOLT_ISSUER',
      'HOLT_CLOUD',
      'HOLT_REGION',
      'HOLT_LOG_LEVEL',
    ],
    shown: {
      HOLT_RUN_DIR: '`/run/holt/<installation>`',
      HOLT_ISSUER: 'the address of the service',
      HOLT_PORT_DOMAIN: '`localhost`',
    },
  },
  {
    title: 'Store',
    names: ['HOLT_DATABASE_URL', 'HOLT_ADOPT_STORE'],
    shown: { HOLT_DATABASE_URL: '`holt.db` in the state directory' },
  },
  {
    title: 'Fleet',
    names: [
      'HOLT_FLEET',
      'HOLT_PEER_ADDRESS',
      'HOLT_MASTER_KEYS_FILE',
      'HOLT_ROLE',
      'HOLT_JOIN_TOKEN_FILE',
      'HOLT_JOIN_ADDRESS',
      'HOLT_FLEET_SUSPECT',
      'HOLT_FLEET_FENCE',
      'HOLT_FLEET_VERDICT',
      'HOLT_FLEET_DUTY',
      'HOLT_OBJECT_STORE',
      'HOLT_ARTIFACT_KEY',
      'HOLT_SNAPSHOT_DURABLE',
    ],
  },
  {
    title: 'Kubernetes',
    names: [
      'HOLT_KUBERNETES',
      'HOLT_KUBERNETES_NODE',
      'HOLT_KUBERNETES_DRAIN_ON_CORDON',
      'HOLT_KUBERNETES_GUARD_IMAGE',
      'HOLT_KUBERNETES_EVICTIONS',
    ],
  },
  {
    title: 'Runtimes',
    names: [
      'HOLT_ISOLATION',
      'HOLT_POOL_MIN',
      'HOLT_POOL_MAX',
      'HOLT_MEMORY_OVERCOMMIT',
      'HOLT_RESERVE_MEMORY',
      'HOLT_RESERVE_DISK',
      'HOLT_PROJECT_QUOTAS',
      'HOLT_RUNSC',
      'HOLT_GVISOR_PLATFORM',
      'HOLT_GUEST',
    ],
    shown: {
      HOLT_ISOLATION: '`gvisor`',
      HOLT_RESERVE_MEMORY: 'a twentieth, at least `512MiB`',
      HOLT_RESERVE_DISK: '`1GiB`',
      HOLT_PROJECT_QUOTAS: 'no limits',
      HOLT_RUNSC: "Holt's own",
      HOLT_GUEST: "Holt's own",
    },
  },
  {
    title: 'Templates and builds',
    names: [
      'HOLT_BASE_IMAGE',
      'HOLT_DEBIAN_MIRROR',
      'HOLT_DEBIAN_SECURITY_MIRROR',
      'HOLT_REGISTRY_MIRRORS',
      'HOLT_REGISTRY_INSECURE',
      'HOLT_BUILDS_AT_ONCE',
      'HOLT_BUILD_CACHE_SIZE',
      'HOLT_BUILD_CONTEXTS_SIZE',
    ],
    shown: {
      HOLT_DEBIAN_MIRROR: "the host's own",
      HOLT_DEBIAN_SECURITY_MIRROR: "the host's own",
      HOLT_BUILD_CACHE_SIZE: '`20GiB`',
      HOLT_BUILD_CONTEXTS_SIZE: '`10GiB`',
    },
  },
  {
    title: 'Network of the runtimes',
    names: ['HOLT_EGRESS_RESOLVERS', 'HOLT_EGRESS_ALLOWED_NETWORKS', 'HOLT_EGRESS_OVERRIDES', 'HOLT_EGRESS_CA_FILE'],
    shown: { HOLT_EGRESS_RESOLVERS: 'those of `/etc/resolv.conf`' },
  },
  {
    title: 'Clients of E2B',
    names: [
      'HOLT_E2B',
      'HOLT_E2B_DOMAIN',
      'HOLT_E2B_TLS_CERT',
      'HOLT_E2B_TLS_KEY',
      'HOLT_E2B_TLS_HOST',
      'HOLT_E2B_TLS_PORT',
      'HOLT_E2B_SANDBOX_DOMAIN',
      'HOLT_E2B_EGRESS',
      'HOLT_E2B_INTERNET_POLICY',
      'HOLT_E2B_BASE',
      'HOLT_E2B_DEFAULT_TIMEOUT',
      'HOLT_E2B_PUBLIC_PORTS',
      'HOLT_E2B_KEEP_TOKENS',
      'HOLT_E2B_ORIGINS',
    ],
    shown: { HOLT_E2B_INTERNET_POLICY: 'every public host' },
  },
  {
    title: 'Traces',
    names: [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      'OTEL_SDK_DISABLED',
      'OTEL_TRACES_SAMPLER_ARG',
    ],
  },
]

/** The settings that the builder reads from the environment itself. */
const ofTheBuilder: Readonly<Record<string, string>> = {
  HOLT_DEBIAN_MIRROR: 'The mirror of the packages of the base template.',
  HOLT_DEBIAN_SECURITY_MIRROR: 'The mirror of their security updates.',
}

const opening = `# Settings

For operators. This page lists every setting of the service, with its default.

The service reads its settings from environment variables, once, when it starts. \`holt up\` passes
its own environment on. A service of systemd reads \`/etc/holt/holtd.env\`, one \`NAME=value\` in each
line. [operations.md](operations.md) explains how to change a setting of a running service.

Sizes have a unit: \`512MiB\`, \`20GiB\`. Lists are separated by commas. An empty variable counts as
absent. The service refuses to start with a wrong value, and names every wrong one. It warns of a
variable that begins with \`HOLT_\` and is not a setting, and suggests the setting that it resembles.

\`scripts/write-settings.ts\` writes this page from the schema of the settings.
`

const closing = `
## Clients

\`holt\` and the clients read \`HOLT_URL\` and \`HOLT_API_KEY\`. Without them they read
\`credentials.json\` in \`HOLT_STATE_DIR\`, which \`holt up\` writes. \`holt key create NAME\` makes more
keys.
`

/** Returns docs/settings.md, in Markdown. Throws if a setting has no place on it. */
export function settingsPage(): string {
  const missing = Object.keys(settings).filter((name) => !groups.some(({ names }) => names.includes(name)))
  if (missing.length > 0) throw new Error(`not on the page of settings: ${missing.join(', ')}`)
  return `${opening}${groups.map(tableOf).join('')}${closing}`
}

function tableOf({ title, names, shown = {} }: Group): string {
  const rows = names.map((name) => `| \`${name}\` | ${shown[name] ?? defaultOf(name)} | ${descriptionOf(name)} |\n`)
  return `\n## ${title}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('')}`
}

function descriptionOf(name: string): string {
  const text = settings[name]?.description ?? ofTheBuilder[name]
  if (text === undefined) throw new Error(`a setting without a description: ${name}`)
  return text
}

/** Returns the default that the schema has, or `none`. */
function defaultOf(name: string): string {
  const schema = settings[name]
  const value: unknown = schema instanceof z.ZodType ? schema.safeParse(undefined).data : undefined
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none'
  if (typeof value === 'object') throw new Error(`a default that is not a value: ${name}`)
  return `\`${String(value)}\``
}
