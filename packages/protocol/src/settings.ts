/** The variables that configure the service. */
export const serviceSettings = [
  'HOLT_STATE_DIR',
  'HOLT_RUN_DIR',
  'HOLT_HOST',
  'HOLT_PEER_ADDRESS',
  'HOLT_MASTER_KEYS_FILE',
  'HOLT_TRUSTED_PROXIES',
  'HOLT_PORT',
  'HOLT_PORT_DOMAIN',
  'HOLT_MCP_HOSTS',
  'HOLT_CONSOLE',
  'HOLT_ALLOW_REMOTE',
  'HOLT_ISOLATION',
  'HOLT_BASE_IMAGE',
  'HOLT_DEBIAN_MIRROR',
  'HOLT_DEBIAN_SECURITY_MIRROR',
  'HOLT_LOG_LEVEL',
  'HOLT_CLOUD',
  'HOLT_REGION',
  'HOLT_RUNSC',
  'HOLT_GVISOR_PLATFORM',
  'HOLT_GUEST',
  'HOLT_MEMORY_OVERCOMMIT',
  'HOLT_EGRESS_RESOLVERS',
  'HOLT_EGRESS_ALLOWED_NETWORKS',
  'HOLT_EGRESS_OVERRIDES',
  'HOLT_EGRESS_CA_FILE',
  'HOLT_POOL_MIN',
  'HOLT_POOL_MAX',
  'HOLT_BUILDS_AT_ONCE',
  'HOLT_BUILD_CACHE_SIZE',
  'HOLT_BUILD_CONTEXTS_SIZE',
  'HOLT_REGISTRY_MIRRORS',
  'HOLT_REGISTRY_INSECURE',
  'HOLT_RESERVE_MEMORY',
  'HOLT_RESERVE_DISK',
  'HOLT_PROJECT_QUOTAS',
  'HOLT_ISSUER',
  'HOLT_DATABASE_URL',
  'HOLT_FLEET',
  'HOLT_FLEET_SUSPECT',
  'HOLT_FLEET_FENCE',
  'HOLT_ROLE',
  'HOLT_JOIN_TOKEN_FILE',
  'HOLT_JOIN_ADDRESS',
  'HOLT_SNAPSHOT_DURABLE',
  'HOLT_FLEET_VERDICT',
  'HOLT_FLEET_DUTY',
  'HOLT_KUBERNETES',
  'HOLT_KUBERNETES_NODE',
  'HOLT_KUBERNETES_DRAIN_ON_CORDON',
  'HOLT_KUBERNETES_EVICTIONS',
  'HOLT_KUBERNETES_GUARD_IMAGE',
  'HOLT_OBJECT_STORE',
  'HOLT_ARTIFACT_KEY',
  'HOLT_ADOPT_STORE',
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
] as const

/** The variables that only clients read. */
const clientSettings = ['HOLT_URL', 'HOLT_API_KEY', 'HOLT_DAEMON']

/** The variables of this repository's scripts and tests. No message names them. */
const developmentSettings = [
  'HOLT_CHECK_ONLY',
  'HOLT_COMMAND',
  'HOLT_E2E_CLOCK',
  'HOLT_E2E_SECRET',
  'HOLT_FAILPOINTS',
  'HOLT_PROPERTY_PATH',
  'HOLT_PROPERTY_RUNS',
  'HOLT_PROPERTY_SEED',
  'HOLT_TEST_DATABASE',
  'HOLT_TEST_E2B_AUTHORITY',
  'HOLT_TEST_E2B_BUNDLE',
  'HOLT_TEST_E2B_REGISTRY_PORT',
  'HOLT_TEST_FAULT',
  'HOLT_TEST_LENGTH',
  'HOLT_TEST_RIG',
  'HOLT_TEST_ROUNDS',
  'HOLT_TEST_SEED',
]

/** The variables that a warning may suggest. */
export const knownSettings: readonly string[] = [...serviceSettings, ...clientSettings]

const known = new Set([...knownSettings, ...developmentSettings])

/**
 * Returns the variables that begin with `HOLT_` and are unknown, in order. An empty variable counts
 * as absent.
 */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('HOLT_') && !known.has(name) && env[name] !== '')
    .toSorted()
}

/** Returns the most wrong characters in a name that still counts as misspelt. */
export function maxMisspelt(name: string): number {
  return Math.min(3, Math.ceil((name.length - 'HOLT_'.length) * 0.4))
}

/** Returns the warning for an unknown variable. `nearest` is the setting that it resembles. */
export function unknownSettingWarning(name: string, nearest: string | undefined): string {
  return `Holt has no setting ${name}.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`
}
