import { isImageReference } from '@holt/builder'
import { Isolation, parseMiB, type Quotas } from '@holt/protocol'
import { z } from 'zod'
import { type E2bConfig, e2bOf, e2bSettings } from './e2b-settings.ts'
import { AllowedNetworks, type EgressConfig, Overrides, Resolvers } from './egress-settings.ts'
import { type FleetConfig, fleetOf, fleetSettings, wrongFleet } from './fleet-settings.ts'
import { type KubernetesConfig, kubernetesOf, kubernetesSettings, wrongKubernetes } from './kubernetes-settings.ts'
import { type ObjectStoreConfig, objectStoreOf, objectStoreSettings } from './object-store-settings.ts'
import { type PeerAddress, peerSettings } from './peer-settings.ts'
import { proxySettings } from './proxy-settings.ts'
import { ProjectQuotasSetting } from './quota-settings.ts'
import { InsecureRegistries, type RegistryConfig, RegistryMirrors } from './registry-settings.ts'
import { type ReserveSettings, usualReserve } from './system-reserve.ts'
import { type TlsConfig, tlsOf, tlsSettings, wrongTls } from './tls-settings.ts'
import { type TracingConfig, tracingOf, tracingSettings } from './tracing-settings.ts'

/** The sizes of pools. */
export interface PoolLimits {
  /** The number of runtimes of the default template that always wait, in the default class. */
  readonly floor: number
  /** The maximum number of waiting runtimes in all pools. 0: there are no pools. */
  readonly ceiling: number
}

/** The domain of the host form of ports, and the way of clients to it. */
export interface PortDomain {
  /** The domain name in lower case, without a final dot. Every name below it belongs to ports. */
  readonly name: string
  /** The proxy before the service. Null if clients reach the service directly. */
  readonly front: { readonly scheme: 'http' | 'https'; readonly port: number | null } | null
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/

const path = z.string().regex(/^\/[^\0]*$/, 'must be an absolute path')
const program = z.string().regex(/^(?:\/[^\0]*|[\w.+-]+)$/, 'must be an absolute path, or the name of a program')

/**
 * The state directory. The excluded characters are those that `mount(8)` and overlayfs take as
 * separators or quotes in their options. Escapes differ by version.
 */
const statePath = z
  .string()
  .regex(
    /^\/[^\p{Cc},:\\"]*$/u,
    'must be an absolute path without commas, colons, backslashes, quotes and control characters',
  )

const issuer = z
  .string()
  .max(255)
  .refine(
    (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text,
    'must be an address without a path, such as https://holt.example.com',
  )

/** The message leaves out the address, because it may contain a password. */
const databaseUrl = z
  .string()
  .max(4096)
  .regex(
    /^postgres(?:ql)?:\/\/\S+$/,
    'must be the address of a PostgreSQL database: postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  )

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`)

const remoteRefused =
  'is not a loopback address: keys and files would cross the network unencrypted. Put a TLS proxy in front of 127.0.0.1, or set HOLT_ALLOW_REMOTE=1 to accept that'

/** An amount of memory or disk: `20GiB`. */
const amount = z.string().transform((text, context) => {
  const mib = text === '0' ? 0 : parseMiB(text)
  if (mib !== null) return mib
  context.addIssue({ code: 'custom', message: 'must be 0 or an amount with a unit, such as 20GiB' })
  return z.NEVER
})

const domainName = /^(?=.{1,200}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i

/** A list of host names. */
const hostNames = z
  .string()
  .max(4096)
  .default('')
  .transform((text) =>
    text
      .toLowerCase()
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  )
  .refine((names) => names.every((name) => domainName.test(name)), 'must be host names, such as holt.example.com')

/** A domain, or the address of the proxy that stands before the service. */
const portDomain = z.string().transform((text, context): PortDomain => {
  const [, scheme, name = '', port] = /^(?:(https?):\/\/)?([^:/]*)(?::(\d{1,5}))?\/?$/.exec(text) ?? []
  if (domainName.test(name) && (scheme !== undefined || port === undefined) && Number(port ?? 1) <= 65_535) {
    const front =
      scheme === undefined
        ? null
        : { scheme: scheme as 'http' | 'https', port: port === undefined ? null : Number(port) }
    return { name: name.toLowerCase(), front }
  }
  context.addIssue({
    code: 'custom',
    message: 'must be a domain, or its address: ports.example.com, https://ports.example.com',
  })
  return z.NEVER
})

/**
 * Returns the schema of the environment. `allowRemote` is known beforehand, although it is a
 * variable itself, so that all wrong values are found at once.
 */
const environment = ({ allowRemote }: { allowRemote: boolean }) =>
  z.object({
    HOLT_STATE_DIR: statePath
      .default('/var/lib/holt')
      .describe('The directory of everything that must be kept: store, keys, images, disks, checkpoints.'),
    HOLT_RUN_DIR: path.optional().describe("The directory of the runtimes' sockets. Each installation needs its own."),
    HOLT_HOST: z
      .string()
      .max(255)
      .default('127.0.0.1')
      .refine((host) => allowRemote || loopback.test(host), remoteRefused)
      .describe(
        'The address that the service listens on. An address other than loopback also needs `HOLT_ALLOW_REMOTE=1`.',
      ),
    HOLT_PORT: wholeNumber(0, 65_535)
      .default(4658)
      .describe('The port that the service listens on. `0` takes any free port.'),
    HOLT_PORT_DOMAIN: portDomain
      .default({ name: 'localhost', front: null })
      .describe(
        'The domain of the servers inside: each is at `PORT-RUNTIME.DOMAIN`, which is an origin of its own. No name below the domain may lead to the API. If a proxy stands before the service, give its address: `https://ports.example.com`. See [ports.md](ports.md).',
      ),
    HOLT_ALLOW_REMOTE: z
      .enum(['0', '1'], 'must be 0 or 1')
      .default('0')
      .describe(
        '`1` allows an address other than loopback. That listener has no TLS, so put a proxy with TLS before it.',
      ),
    HOLT_MCP_HOSTS: hostNames.describe(
      'Host names at which clients of `/mcp` reach the service through a proxy: `holt.example.com`. Addresses and `localhost` are always accepted. See [mcp.md](mcp.md#over-http).',
    ),
    HOLT_CONSOLE: z
      .enum(['0', '1'], 'must be 0 or 1')
      .default('1')
      .describe('`0` turns the console off, with its sessions. See [console.md](console.md).'),
    HOLT_ISOLATION: Isolation.optional().describe(
      'The isolation class of creates that name none: `gvisor` or `container`. See [SECURITY.md](../SECURITY.md).',
    ),
    HOLT_BASE_IMAGE: z
      .string()
      .refine(isImageReference, 'is not an image reference')
      .optional()
      .describe(
        'A container image from which the base template is made. Without it, the base template is made of Debian packages.',
      ),
    HOLT_LOG_LEVEL: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .describe(
        '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. `debug` logs each request. See [operations.md](operations.md#logs).',
      ),
    HOLT_CLOUD: z
      .string()
      .min(1)
      .max(64)
      .default('aws')
      .describe('The `cloud` that this service serves. A create that names another one is refused.'),
    HOLT_REGION: z
      .string()
      .min(1)
      .max(64)
      .default('us-east-1')
      .describe('The `region` that this service serves. A create that names another one is refused.'),
    HOLT_RUNSC: program.optional().describe('Another gVisor: the path of `runsc`, or its name in `PATH`.'),
    HOLT_GVISOR_PLATFORM: z
      .enum(['systrap', 'ptrace'])
      .default('systrap')
      .describe(
        'How gVisor intercepts system calls: `systrap` or `ptrace`. `systrap` is faster in [measurements](../bench/README.md#gvisors-platform).',
      ),
    HOLT_GUEST: path.optional().describe('Another guest program. An installed Holt sets it for itself.'),
    HOLT_MEMORY_OVERCOMMIT: wholeNumber(1, 1000)
      .default(16)
      .describe(
        'The memory limits of all runtimes together may be this many times the memory of the host. A runtime uses a fraction of its limit.',
      ),
    HOLT_EGRESS_RESOLVERS: Resolvers.describe('The DNS servers that the gateway asks: `10.0.0.2,10.0.0.3:5353`.'),
    HOLT_EGRESS_ALLOWED_NETWORKS: AllowedNetworks.describe(
      'Networks that are not public and that runtimes may still reach, if a policy allows a name in them: `10.1.0.0/16`.',
    ),
    HOLT_EGRESS_OVERRIDES: Overrides.describe(
      'Other targets for connections to a host: `pypi.org:443=mirror.example:8443`. TLS is verified against the first name.',
    ),
    HOLT_EGRESS_CA_FILE: path
      .optional()
      .describe(
        'A file of certificates that the gateway trusts besides those of the system. They apply to hosts whose TLS the gateway ends, and to token endpoints.',
      ),
    HOLT_POOL_MIN: wholeNumber(0, 10_000)
      .default(2)
      .describe(
        'The number of runtimes of the default template that always wait for a create. `0` turns this off. See [lifecycle.md](lifecycle.md#pools).',
      ),
    HOLT_POOL_MAX: wholeNumber(0, 10_000)
      .default(64)
      .describe('The most runtimes that wait in all pools together. `0` turns pools off.'),
    HOLT_BUILDS_AT_ONCE: wholeNumber(1, 64)
      .default(2)
      .describe('The number of template builds that run at the same time. Projects take turns.'),
    HOLT_BUILD_CACHE_SIZE: amount
      .default(20 * 1024)
      .describe(
        'The size of the build cache: steps, pulled images and cache mounts. The least recently used entries are removed first.',
      ),
    HOLT_BUILD_CONTEXTS_SIZE: amount
      .default(10 * 1024)
      .describe(
        'The size of the uploaded build contexts of a project, unpacked. The least recently used contexts are removed first.',
      ),
    HOLT_REGISTRY_MIRRORS: RegistryMirrors.describe(
      'Mirrors that are asked for images before the registry, in this order: `docker.io=https://mirror.example.com`. A mirror may have any address. It never receives credentials.',
    ),
    HOLT_REGISTRY_INSECURE: InsecureRegistries.describe(
      'Registries without TLS, which may have any address: `registry.lan:5000,127.0.0.1:*`.',
    ),
    HOLT_RESERVE_MEMORY: amount.optional().describe('The memory of the host that runtimes must leave free.'),
    HOLT_RESERVE_DISK: amount
      .default(usualReserve.diskMiB)
      .describe('The disk of the host that runtimes must leave free.'),
    HOLT_PROJECT_QUOTAS: ProjectQuotasSetting.describe(
      'The quotas of projects that have none of their own: `runtimes=50,requests_per_sec=200`. See [projects.md](projects.md#quotas).',
    ),
    HOLT_ISSUER: issuer
      .optional()
      .describe('The issuer of the tokens of `workload` providers: the address at which verifiers find this service.'),
    HOLT_DATABASE_URL: databaseUrl
      .optional()
      .describe(
        'A PostgreSQL database (15 or newer) as the store: `postgres://holt:PASSWORD@db.example.com/holt`. See [store.md](store.md).',
      ),
    HOLT_ADOPT_STORE: z
      .enum(['0', '1'], 'must be 0 or 1')
      .default('0')
      .describe(
        '`1`, for one start: adopt a store that does not match the state directory. Runtimes that the store does not list are deleted. It also starts without lost master keys or files. See [store.md](store.md#which-store-is-whose).',
      ),
    ...fleetSettings,
    ...peerSettings,
    ...kubernetesSettings,
    ...objectStoreSettings,
    ...e2bSettings,
    ...tlsSettings,
    ...proxySettings,
    ...tracingSettings,
  })

/**
 * The schemas of the settings by name, each with a description in Markdown for docs/settings.md.
 */
export const settings: Readonly<Record<string, z.ZodType>> = environment({ allowRemote: true }).shape

/** The names of the settings. */
export const settingNames: readonly string[] = Object.keys(settings)

/** The configuration of the service. */
export interface ServerConfig {
  readonly stateDir: string
  /** The directory of the sockets; null: `/run/holt/` and the installation's id. */
  readonly runDir: string | null
  readonly host: string
  /** The domain below which the host form of ports is. */
  readonly portDomain: PortDomain
  /** The port; 0: any free port. */
  readonly port: number
  /** The host names of `/mcp`, besides those of loopback. */
  readonly mcpHosts: readonly string[]
  /** True if the service has the console at `/console`. */
  readonly console: boolean
  /** The class of a create without `isolation`; null: `gvisor`. */
  readonly isolation: Isolation | null
  /** The container image from which the base templates are made; null: distribution packages. */
  readonly baseImage: string | null
  readonly logLevel: string
  readonly cloud: string
  readonly region: string
  readonly runsc: string | null
  /**
   * The way in which gVisor intercepts system calls. `systrap` is faster at them, and `ptrace` is
   * faster at starting processes on few cores.
   */
  readonly gvisorPlatform: 'systrap' | 'ptrace'
  /** The guest program; null: the one built beside this package. */
  readonly guest: string | null
  /**
   * The largest sum of the limits of all runtimes, as a multiple of the host's memory. A runtime
   * uses a fraction of its limit.
   */
  readonly memoryOvercommit: number
  /** The numbers of runtimes that wait for a claim. */
  readonly pools: PoolLimits
  /** The number of builds that run at the same time. */
  readonly buildsAtOnce: number
  /** The size of the cache of earlier builds, which makes later ones faster. */
  readonly buildCacheBytes: number
  /** The size of the uploaded build contexts of a project, unpacked. */
  readonly buildContextsBytes: number
  readonly egress: EgressConfig
  readonly registries: RegistryConfig
  /** The settings of traces; null: no request is traced. */
  readonly tracing: TracingConfig | null
  /** The resources of the host that runtimes must leave free. */
  readonly reserve: ReserveSettings
  /** The quotas of a project that has none of its own. */
  readonly projectQuotas: Quotas
  /** The address at which verifiers find this service; null: the address it listens on. */
  readonly issuer: string | null
  /**
   * The PostgreSQL database that is the store, with its password; null: `holt.db` in the state
   * directory.
   */
  readonly databaseUrl: string | null
  /**
   * True if a store is adopted that does not match the state directory. Everything there that the
   * store does not list is deleted then.
   */
  readonly adoptStore: boolean
  /** The times of the fleet; null: the machine is in none. */
  readonly fleet: FleetConfig | null
  /** The object store of the fleet; null: there is none. */
  readonly objectStore: ObjectStoreConfig | null
  /** The address of the listener for other hosts; null: the service has none. */
  readonly peerAddress: PeerAddress | null
  /** The file with the master keys; null: that of the state directory. */
  readonly masterKeysFile: string | null
  /** The place of this host in a cluster of Kubernetes; null: it is in none. */
  readonly kubernetes: KubernetesConfig | null
  /** The networks of the proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** The entry for E2B's clients; null: it is off. */
  readonly e2b: E2bConfig | null
  /** The TLS listener; null: the service has none. */
  readonly tls: TlsConfig | null
}

/** The error for wrong settings, with one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/**
 * Reads the configuration from the environment. An empty variable counts as absent. The error names
 * every wrong variable.
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): ServerConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = environment({ allowRemote: given.HOLT_ALLOW_REMOTE === '1' }).safeParse(given)
  const together = [...wrongTls(given), ...wrongFleet(given), ...wrongKubernetes(given)].map(
    ([name, message]) => `${name}: ${message}`,
  )
  if (!parsed.success || together.length > 0) {
    const issues = parsed.error?.issues ?? []
    throw new ConfigError(
      [...issues.map(({ path, message }) => `${path.join('.')}: ${message}`), ...together].join('\n'),
    )
  }
  const { data } = parsed
  return {
    stateDir: data.HOLT_STATE_DIR,
    runDir: data.HOLT_RUN_DIR ?? null,
    host: data.HOLT_HOST,
    port: data.HOLT_PORT,
    portDomain: data.HOLT_PORT_DOMAIN,
    mcpHosts: data.HOLT_MCP_HOSTS,
    console: data.HOLT_CONSOLE === '1',
    isolation: data.HOLT_ISOLATION ?? null,
    baseImage: data.HOLT_BASE_IMAGE ?? null,
    logLevel: data.HOLT_LOG_LEVEL,
    cloud: data.HOLT_CLOUD,
    region: data.HOLT_REGION,
    runsc: data.HOLT_RUNSC ?? null,
    gvisorPlatform: data.HOLT_GVISOR_PLATFORM,
    guest: data.HOLT_GUEST ?? null,
    memoryOvercommit: data.HOLT_MEMORY_OVERCOMMIT,
    pools: { floor: data.HOLT_POOL_MIN, ceiling: data.HOLT_POOL_MAX },
    buildsAtOnce: data.HOLT_BUILDS_AT_ONCE,
    buildCacheBytes: data.HOLT_BUILD_CACHE_SIZE * 2 ** 20,
    buildContextsBytes: data.HOLT_BUILD_CONTEXTS_SIZE * 2 ** 20,
    egress: {
      resolvers: data.HOLT_EGRESS_RESOLVERS,
      allowedNetworks: data.HOLT_EGRESS_ALLOWED_NETWORKS,
      overrides: data.HOLT_EGRESS_OVERRIDES,
      caFile: data.HOLT_EGRESS_CA_FILE ?? null,
    },
    registries: { mirrors: data.HOLT_REGISTRY_MIRRORS, insecure: data.HOLT_REGISTRY_INSECURE },
    reserve: { memoryMiB: data.HOLT_RESERVE_MEMORY ?? null, diskMiB: data.HOLT_RESERVE_DISK },
    projectQuotas: data.HOLT_PROJECT_QUOTAS,
    issuer: data.HOLT_ISSUER ?? null,
    databaseUrl: data.HOLT_DATABASE_URL ?? null,
    adoptStore: data.HOLT_ADOPT_STORE === '1',
    fleet: fleetOf(data),
    objectStore: objectStoreOf(data),
    tracing: tracingOf(data),
    peerAddress: data.HOLT_PEER_ADDRESS ?? null,
    masterKeysFile: data.HOLT_MASTER_KEYS_FILE ?? null,
    kubernetes: kubernetesOf(data),
    e2b: e2bOf(data),
    tls: tlsOf(data),
    trustedProxies: data.HOLT_TRUSTED_PROXIES,
  }
}
