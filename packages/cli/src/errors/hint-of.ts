import { type ErrorDetails, nameSameAsRequests } from '@holt/protocol'
import { type ErrorCode, HoltApiError, HoltConnectionError, HoltError, readCredentialsFile } from '@holt/sdk'
import { stateDir } from '../daemon/state.ts'
import { shellWord } from '../shell/shell-word.ts'

/** Returns the next command to type after an error. */
export function hintOf(error: unknown): string | undefined {
  if (error instanceof HoltConnectionError) {
    if (error.reason !== 'refused') return 'Check the service: holt status'
    return withoutCredentials() ?? 'Start the service: holt up'
  }
  if (!(error instanceof HoltError)) return undefined
  if (error.code === 'unauthenticated' && error instanceof HoltApiError && !process.env.HOLT_API_KEY) {
    const hint = withoutCredentials()
    if (hint !== undefined) return hint
  }
  const hint = error instanceof HoltApiError ? error.wireHint : error.hint
  const text = translateHint(hint, error.details)
  const isGeneral = error.hint === new HoltError(error.code, '').hint
  // The hint of this one error is more specific than the general hint of its code.
  if (!isGeneral && !speaksOfRequests.test(text)) return text
  if (error.code === 'invalid_request' && error.details?.issues !== undefined) return undefined
  const ours = (hintsHere as Readonly<Record<string, string | undefined>>)[error.code]
  return ours === undefined ? text : named(ours, error.details)
}

/** Matches routes, headers, fields and other terms of the API. */
const speaksOfRequests = /\b(?:GET|POST|PUT|PATCH|DELETE) |Idempotency-Key|details\.|`|\b[a-z]+_[a-z_]+\b/

/**
 * Returns a hint if no service is configured and the state directory has none: the directory may be
 * wrong, or the service never started.
 */
function withoutCredentials(): string | undefined {
  if (process.env.HOLT_URL || hasCredentials()) return undefined
  return `${stateDir()} has no credentials of a service. Set HOLT_STATE_DIR to the service's state directory, or start a service there: holt up`
}

function hasCredentials(): boolean {
  try {
    return readCredentialsFile() !== null
  } catch {
    return true // They exist. Their fault has been reported.
  }
}

/** The commands to type next, for codes whose API hint is about requests. */
const hintsHere: Readonly<Partial<Record<ErrorCode, string>>> = {
  already_exists: 'Replace it with --overwrite, or choose another destination.',
  build_not_found: 'List the builds: holt template builds',
  code_context_not_found: 'Leave --context out to use the default context of a language.',
  code_interpreter_missing: 'Create a runtime with an interpreter: holt create -t code-interpreter',
  command_not_found: 'List the commands: holt ps RUNTIME',
  context_not_found: 'Start the build again. It sends its directory again.',
  cursor_expired: 'Leave --cursor out to begin with the oldest entry that is kept.',
  delivery_not_found: 'List the deliveries: holt webhook deliveries WEBHOOK',
  disk_too_small: 'Request a larger disk: --disk',
  forbidden: 'Show the scopes of this key: holt whoami',
  invalid_request: 'Correct the values named above.',
  is_directory: 'Give the path of a file, or copy the whole directory with -r.',
  key_not_found: 'List the keys: holt key ls',
  name_taken: 'Choose another name, or delete the object that has this name.',
  policy_not_found: 'List the policies: holt policy ls',
  port_not_listening: 'Start the server inside the runtime, or wait for it: holt port RUNTIME PORT --wait 30',
  host_not_found: 'List the hosts: holt host ls',
  join_token_not_found: 'List the tokens: holt fleet tokens',
  project_not_found: 'List the projects: holt project ls',
  provider_not_found: 'List the providers: holt provider ls',
  quota_exceeded:
    'Pause or delete unused runtimes, or ask the operator to raise the quota (holt whoami shows quotas): holt project set PROJECT --quota',
  runtime_not_found: 'List the runtimes: holt ls',
  runtime_not_running: 'Show its state and the reason: holt get RUNTIME',
  runtime_paused: 'Resume the runtime: holt resume RUNTIME',
  runtime_terminated: 'Create a new runtime: holt create',
  secret_not_found: 'List the secrets: holt secret ls',
  snapshot_incompatible:
    'Use a filesystem snapshot, which boots everywhere: holt snapshot create --kind filesystem. A memory snapshot needs the engine and the processor of its creation.',
  snapshot_not_found: 'List the snapshots: holt snapshot ls',
  session_not_found: 'List the sessions: holt session ls RUNTIME',
  template_not_found: 'List the templates: holt template ls',
  webhook_not_found: 'List the webhooks: holt webhook ls',
  unauthenticated: 'Set HOLT_API_KEY to a key of that service.',
}

/** Terms of the API, and their counterparts on the command line. */
const replacements: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^Build it with POST \S+\.$/, 'Build it: holt template build'],
  [/: GET \/v1\/agents\/template lists them\.$/, ': holt template ls'],
  [
    /^GET \/v1\/agents\/snapshot\?kind=filesystem lists filesystem snapshots\.$/,
    'List the snapshots: holt snapshot ls',
  ],
  [/^First set the state of the webhook to active\.$/, 'Enable the webhook first: holt webhook set WEBHOOK --enable'],
  [/^Read the command by its id: GET \S+\.$/, 'Show its result: holt ps RUNTIME'],
  [/^Read the run by its id: GET \S+\.$/, 'Run it again. Its first run may have had an effect.'],
  [/with from_template\.$/, 'with --from-template.'],
  [/^Set recursive /, 'Use -r '],
  [/Send it again under another Idempotency-Key\.$/, 'Try it again.'],
  [/POST \/v1\/agents\/project makes one\.$/, 'holt project create NAME'],
  [
    /POST \/v1\/agents\/key with the project (\S+) and the scope admin makes one\.$/,
    'holt key create NAME --project $1 --scope admin',
  ],
]

/** Returns an API hint in terms of the command line. */
export function translateHint(hint: string, details?: ErrorDetails): string {
  const text = replacements.reduce((text, [theirs, ours]) => text.replace(theirs, ours), hint)
  return named(nameSameAsRequests(text, 'command'), details).replace(
    /(?:they are in )?details\.(\w+)/,
    (whole, name: string) => {
      const fact = details?.[name]
      return Array.isArray(fact) ? fact.join(', ') : typeof fact === 'string' ? fact : whole
    },
  )
}

/** Returns a hint that names the runtime of the error, so that it can be typed literally. */
function named(hint: string, details: ErrorDetails | undefined): string {
  const id = details?.runtime_id
  return typeof id === 'string' ? hint.replace('RUNTIME', () => shellWord(id)) : hint
}
