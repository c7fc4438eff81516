import { type ErrorDetails, nameSameAsRequests } from '@holt/protocol'

const olderService = 'Check url, and check that the service is at least as new as this client.'

/** Terms of requests in the service's hints, and their counterparts in a program of this client. */
const ours: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^Send a valid key as Authorization: Bearer KEY\.$/, 'Pass apiKey, or set HOLT_API_KEY, to a key of that service.'],
  [
    /^Correct the fields named in details\.issues and send the request again\.$/,
    'Correct the fields that the message names.',
  ],
  [/^Resume the runtime: POST \S+\./, 'Resume the runtime: runtime.resume().'],
  [/GET \S+\/ports\/\S+ waits for it\.$/, 'runtime.ports.get(port, { wait_secs: 30 }) waits for it.'],
  [/holt port RUNTIME (\S+), or GET \S+ with an API key\.$/, 'runtime.ports.url($1).'],
  [/^Read the command by its id: GET \S+\.$/, 'Read the command by its id: runtime.commands.get(commandId).'],
  [/^Read the run by its id: GET \S+\.$/, 'Read the run by its id: runtime.code.read(runId).'],
  [
    /POST \/v1\/agents\/key with the project (\S+) and the scope admin makes one\.$/,
    "holt.keys.create({ name, project: '$1', scopes: ['admin'] }) makes one.",
  ],
  [/\bIdempotency-Key\b/g, 'idempotencyKey'],
  [/\bthe seconds in Retry-After\b/, 'the retryAfterSecs of this error'],
  [/\bthe request_id\b/, 'the requestId of this error'],
  [/^Use a method named in the Allow header\.$/, olderService],
  [/^See \/docs or \/openapi\.json for every route\.$/, olderService],
  [/^Send application\/json, or bytes where the route takes a file\.$/, olderService],
  [/^Send one Host header, .*$/, 'Check url, and whether a proxy on the way changes requests.'],
  [
    /^Open this route as a WebSocket \(RFC 6455\)\.$/,
    'Open it with command.attach(), or a port with runtime.ports.webSocketUrl(port).',
  ],
]

/**
 * Translates a hint of the service: the calls and options of this client stand in place of
 * requests.
 */
export function translateHint(hint: string): string {
  return nameSameAsRequests(
    ours.reduce((text, [theirs, words]) => text.replace(theirs, words), hint),
    'call',
  )
}

/** The parts of a request to which fields of an error point. */
export interface SentFields {
  readonly params?: Readonly<Record<string, unknown>> | undefined
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly json?: unknown
}

/**
 * Returns a message that names wrong fields as options with their values, in place of JSON
 * pointers.
 */
export function translateMessage(message: string, details: ErrorDetails | undefined, sent: SentFields): string {
  return (details?.issues ?? []).reduce((text, { pointer, message: why }) => {
    const named = `${optionOf(pointer)} ${why}${valueText(pointer, why, sent)}`
    return text.replace(`${pointer || 'the body'} ${why}`, () => named)
  }, message)
}

/**
 * Returns the option of a field: `network_policy.allow[0].host` for `/network_policy/allow/0/host`,
 * `path` for `/query/path`.
 */
function optionOf(pointer: string): string {
  const [first, ...rest] = partsOf(pointer)
  const parts = isOfAddress(first) && rest.length > 0 ? rest : partsOf(pointer)
  if (parts.length === 0) return 'the request'
  return parts.reduce(
    (text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}

const longestValue = 80
/** The fields whose values are never repeated in a message. */
const confidential = /secret|token|password|credential|auth|\b(?:value|env|data|headers|key)\b/i

function valueText(pointer: string, why: string, sent: SentFields): string {
  if (confidential.test(pointer) || why === 'is not a known field') return ''
  const [first, ...rest] = partsOf(pointer)
  const [from, path] =
    first === 'query' && rest.length > 0
      ? [sent.query, rest]
      : first === 'path' && rest.length > 0
        ? [sent.params, rest]
        : [sent.json, partsOf(pointer)]
  const value = path.reduce<unknown>(
    (at, part) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined),
    from,
  )
  if (!['string', 'number', 'boolean'].includes(typeof value)) return ''
  const text = String(value)
  if (text !== '' && why.includes(text)) return ''
  const short = text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
  return typeof value === 'string' ? `, got '${short}'` : `, got ${short}`
}

function isOfAddress(part: string | undefined): boolean {
  return part === 'query' || part === 'path'
}

/** Returns the parts of a JSON pointer (RFC 6901). */
function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}
