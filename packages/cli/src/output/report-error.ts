import { type ErrorCode, HoltApiError, HoltConnectionError, HoltError } from '@holt/sdk'
import { say, styled } from './print.ts'

/** Tells an error in lines: what happened, each wrong field, what to do next, and what the operator can look up. */
export function reportError(error: unknown): void {
  const message = messageOf(error)
  say(`${styled('red', 'error')}: ${message.split('\n').map(printable).join('\n  ')}`)
  if (error instanceof HoltError) {
    for (const { pointer, message } of error.details?.issues ?? [])
      say(`  ${printable(optionsHere[pointer] ?? pointer)}: ${printable(message)}`)
  }
  const hint = hintOf(error)
  if (hint !== undefined) say(`${styled('yellow', 'hint')}: ${printable(hint)}`)
  if (error instanceof HoltApiError && error.requestId !== null) say(`request: ${printable(error.requestId)}`)
}

/** A file that is missing is told by its name alone, without the call that looked for it. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, path } = error as NodeJS.ErrnoException
  return code === 'ENOENT' && path !== undefined ? `there is no ${path}` : error.message
}

/** Text that came from elsewhere, on one line and without control characters that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

/** What to type next, where the API's own hint speaks of requests. */
const hintsHere: Readonly<Partial<Record<ErrorCode, string>>> = {
  already_exists: 'Replace it with --overwrite, or choose another destination.',
  build_not_found: 'See which there are: holt template builds',
  command_not_found: 'See which there are: holt ps RUNTIME',
  cursor_expired: 'Begin with the oldest that is kept: leave --cursor out.',
  delivery_not_found: 'See which there are: holt webhook deliveries WEBHOOK',
  forbidden: 'See which scopes this key has: holt whoami',
  invalid_request: 'Correct what is named above.',
  is_directory: 'Name a file, or copy everything in it with -r.',
  key_not_found: 'See which there are: holt key ls',
  name_taken: 'Choose another name, or delete what has it.',
  policy_not_found: 'See which there are: holt policy ls',
  port_not_listening: 'Start the server inside, or wait for it: holt port RUNTIME PORT --wait 30',
  provider_not_found: 'See which there are: holt provider ls',
  quota_exceeded:
    'Pause or delete what is not needed, or have the operator raise the quota (holt whoami shows them): holt project set PROJECT --quota',
  runtime_not_found: 'See which there are: holt ls',
  runtime_not_running: 'See its state and the reason: holt get RUNTIME',
  runtime_paused: 'Resume it: holt resume RUNTIME',
  runtime_terminated: 'Make a new one: holt create',
  secret_not_found: 'See which there are: holt secret ls',
  snapshot_incompatible:
    'A memory snapshot needs the engine and the processor it was made with. One of kind filesystem boots everywhere: holt snapshot create --kind filesystem',
  snapshot_not_found: 'See which there are: holt snapshot ls',
  session_not_found: 'See which there are: holt session ls RUNTIME',
  template_not_found: 'See which there are: holt template ls',
  webhook_not_found: 'See which there are: holt webhook ls',
  unauthenticated: 'Set HOLT_API_KEY to a key of that service.',
}

/** The options that are fields of the API under another name. */
const optionsHere: Readonly<Record<string, string>> = {
  '/timeout_secs': '--timeout',
  '/on_timeout': '--on-timeout',
  '/idle_timeout_secs': '--idle-timeout',
  '/auto_resume': '--no-auto-resume',
  '/from_snapshot': '--from-snapshot',
  '/snapshot': '--snapshot',
  '/cpu': '--cpu',
  '/memory': '--memory',
  '/disk': '--disk',
  '/isolation': '--isolation',
}

function hintOf(error: unknown): string | undefined {
  if (error instanceof HoltApiError) return named(hintsHere[error.code], error) ?? error.hint
  if (error instanceof HoltError) return error.hint
  if (!(error instanceof HoltConnectionError)) return undefined
  return error.reason === 'refused' ? 'Start the service: holt up' : 'See what the service does: holt status'
}

/** A hint with the runtime that the error is about, so that it can be typed as it stands. */
function named(hint: string | undefined, { details }: HoltApiError): string | undefined {
  const id = details?.runtime_id
  return typeof id === 'string' ? hint?.replace('RUNTIME', printable(id)) : hint
}
