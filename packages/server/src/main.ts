#!/usr/bin/env node
import { ConfigError, parseConfig, type ServerConfig } from './foundation/config/config.ts'
import { version } from './foundation/config/version.ts'

const usage = `holtd: the Holt service

  holtd [serve]          run the service
  holtd doctor [--json]  check this machine; a line that begins with FIX: has the command that repairs a fault
  holtd halt             end the processes of all runtimes, before the machine goes down; the service must not run
  holtd leave            move the runtimes of this host of a fleet to other hosts, before the machine goes down; the service must run
  holtd return           let this host have new runtimes again, if leave has cordoned it
  holtd purge            remove every runtime and kernel object of the installation
  holtd export FILE [--force]           write the store to a file, or with - to stdout; the service may run
  holtd import FILE [--keep-webhooks]   fill an empty store from such a file, or with - from stdin
  holtd join [--check]   move the store of a stopped service to PostgreSQL, as the first host of a fleet; --check only checks
  holtd certificate [--domain NAME] [--days N] [--out DIR] [--trust] [--json]
                         make a certificate for the TLS listener, from an authority of this machine
  holtd master-key FILE  add a master key to the file that all hosts of a fleet have, or make the file
  holtd settings         print the settings that differ from those of the running or the last daemon, as JSON
  holtd version          print the version

Examples:
  holtd doctor
  HOLT_STATE_DIR=/srv/holt HOLT_PORT=5000 holtd
  holtd export - | zstd > store.jsonl.zst
  holtd import store.jsonl

Settings come from the environment: HOLT_STATE_DIR HOLT_HOST HOLT_PORT HOLT_ALLOW_REMOTE HOLT_PORT_DOMAIN HOLT_MCP_HOSTS HOLT_ISOLATION
HOLT_BASE_IMAGE HOLT_DEBIAN_MIRROR HOLT_DEBIAN_SECURITY_MIRROR HOLT_RUN_DIR HOLT_LOG_LEVEL HOLT_CLOUD HOLT_REGION HOLT_RUNSC HOLT_GVISOR_PLATFORM HOLT_GUEST
HOLT_MEMORY_OVERCOMMIT HOLT_EGRESS_RESOLVERS HOLT_EGRESS_ALLOWED_NETWORKS HOLT_EGRESS_OVERRIDES HOLT_EGRESS_CA_FILE HOLT_ISSUER
HOLT_BUILDS_AT_ONCE HOLT_BUILD_CACHE_SIZE HOLT_BUILD_CONTEXTS_SIZE HOLT_POOL_MIN HOLT_POOL_MAX HOLT_REGISTRY_MIRRORS HOLT_REGISTRY_INSECURE
HOLT_RESERVE_MEMORY HOLT_RESERVE_DISK HOLT_PROJECT_QUOTAS HOLT_DATABASE_URL HOLT_ADOPT_STORE HOLT_CONSOLE
HOLT_E2B_TLS_CERT HOLT_E2B_TLS_KEY HOLT_E2B_TLS_HOST HOLT_E2B_TLS_PORT
OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_SDK_DISABLED OTEL_TRACES_SAMPLER_ARG
`

/** The option of each verb. */
const optionOf: Readonly<Record<string, string>> = {
  doctor: '--json',
  export: '--force',
  import: '--keep-webhooks',
  join: '--check',
}

/** The verbs with a file. */
const fileVerbs = ['export', 'import', 'master-key']

/** The verbs that warn of unknown settings on stderr. The service itself warns in its log. */
const warningVerbs = ['doctor', 'halt', 'leave', 'return', 'purge', 'export', 'import', 'join']

/**
 * Runs a verb and returns the exit code: 0 done, 1 failed, 2 wrong arguments or settings. Returns
 * null if the process serves.
 */
async function main([verb = 'serve', ...options]: readonly string[]): Promise<number | null> {
  process.umask(0o077)
  if (verb === 'certificate') return certificate(options)
  const words = options.filter((option) => option !== optionOf[verb])
  const has = words.length < options.length
  const [file] = fileVerbs.includes(verb) ? words : []
  if (warningVerbs.includes(verb)) await warnOfSettings()
  if (words.length > (file === undefined ? 0 : 1) || file?.startsWith('--') === true) return misused()
  switch (verb) {
    case 'version':
      process.stdout.write(`${version}\n`)
      return 0
    case 'help':
    case '--help':
      process.stdout.write(usage)
      return 0
    case 'serve':
      return serve(parseConfig(process.env))
    case 'doctor':
      return doctor(parseConfig(process.env), has)
    case 'settings':
      return settings(parseConfig(process.env))
    case 'halt':
      return halt(parseConfig(whereRuntimesAre(process.env)))
    case 'leave':
      return leave(parseConfig(process.env))
    case 'return':
      return comeBack(parseConfig(process.env))
    case 'purge':
      return purge(parseConfig(process.env))
    case 'join':
      return join(parseConfig(process.env), has)
    case 'master-key':
      return file === undefined ? misused() : addKey(file)
    case 'export':
      return file === undefined ? misused() : exportTo(parseConfig(process.env), file, has)
    case 'import':
      return file === undefined ? misused() : importFrom(parseConfig(process.env), file, has)
    default:
      return misused()
  }
}

async function warnOfSettings(): Promise<void> {
  const { settingWarnings } = await import('./foundation/config/unknown-settings.ts')
  for (const warning of settingWarnings(process.env)) process.stderr.write(`warning: ${warning}\n`)
}

function misused(): number {
  process.stderr.write(usage)
  return 2
}

async function serve(config: ServerConfig): Promise<null> {
  await (await import('./daemon/serve.ts')).serve(config)
  return null
}

async function doctor(config: ServerConfig, json: boolean): Promise<number> {
  const [{ runDoctor }, { lineOf }] = await Promise.all([
    import('./daemon/doctor/run-doctor.ts'),
    import('./daemon/doctor/check.ts'),
  ])
  const checks = await runDoctor(config)
  process.stdout.write(json ? `${JSON.stringify({ checks })}\n` : `${checks.map(lineOf).join('\n')}\n`)
  return checks.some(({ status }) => status === 'fix') ? 1 : 0
}

async function certificate(options: readonly string[]): Promise<number> {
  const { runCertificate } = await import('./daemon/certificate/run-certificate.ts')
  return runCertificate(options, process.env)
}

async function settings({ stateDir }: ServerConfig): Promise<number> {
  const { changedSettings, changedSinceLastStart } = await import('./foundation/config/running-settings.ts')
  const changed = await changedSettings(stateDir, process.env)
  const since_last_start = await changedSinceLastStart(stateDir, process.env)
  process.stdout.write(`${JSON.stringify({ changed, since_last_start })}\n`)
  return 0
}

/**
 * Returns the settings that locate the runtimes, so that errors in other settings do not matter.
 */
function whereRuntimesAre({ HOLT_STATE_DIR, HOLT_RUN_DIR }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { HOLT_STATE_DIR, HOLT_RUN_DIR }
}

async function halt(config: ServerConfig): Promise<number> {
  const left = await (await import('./daemon/halt.ts')).halt(config)
  for (const line of left) process.stderr.write(`error: could not end ${line}\n`)
  return left.length === 0 ? 0 : 1
}

async function addKey(file: string): Promise<number> {
  const id = await (await import('./foundation/sealing/master-key-file.ts')).addMasterKey(file, Date.now())
  process.stderr.write(
    `added the master key ${id}. Copy ${file} to all hosts. Then run \`holt secret rotate-key\`, or wait for it\n`,
  )
  return 0
}

async function leave(config: ServerConfig): Promise<number> {
  process.stderr.write(await (await import('./daemon/leave.ts')).leave(config))
  return 0
}

async function comeBack(config: ServerConfig): Promise<number> {
  process.stderr.write(await (await import('./daemon/leave.ts')).comeBack(config))
  return 0
}

async function purge(config: ServerConfig): Promise<number> {
  const left = await (await import('./daemon/purge.ts')).purge(config)
  for (const line of left) process.stderr.write(`error: could not remove ${line}\n`)
  return left.length === 0 ? 0 : 1
}

async function join(config: ServerConfig, checkOnly: boolean): Promise<number> {
  const [{ checkJoin, joinAsFirst }, { lineOf }] = await Promise.all([
    import('./daemon/join-as-first.ts'),
    import('./daemon/doctor/check.ts'),
  ])
  const checks = await checkJoin(config)
  const isFit = checks.every(({ status }) => status !== 'fix')
  if (checkOnly || !isFit) process.stdout.write(`${checks.map(lineOf).join('\n')}\n`)
  if (!isFit) process.stderr.write('error: nothing was changed\n')
  if (checkOnly || !isFit) return isFit ? 0 : 1
  process.stderr.write(await joinAsFirst(config))
  return 0
}

async function exportTo(config: ServerConfig, file: string, force: boolean): Promise<number> {
  await (await import('./daemon/export-import.ts')).exportTo(config, file, { force })
  process.stderr.write(
    'Secrets in the file are sealed. Keep a copy of master-keys.json of the state directory, but not beside the file. Copy images/ and checkpoints/ of the state directory too.\n',
  )
  return 0
}

async function importFrom(config: ServerConfig, file: string, keepWebhooks: boolean): Promise<number> {
  const [{ importFrom }, { wordsOf }] = await Promise.all([
    import('./daemon/export-import.ts'),
    import('./daemon/import-words.ts'),
  ])
  process.stderr.write(wordsOf(await importFrom(config, file, { keepWebhooks }), config))
  return 0
}

main(process.argv.slice(2)).then(
  (code) => {
    if (code !== null) process.exitCode = code
  },
  (error: unknown) => {
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof ConfigError ? 2 : 1)
  },
)
