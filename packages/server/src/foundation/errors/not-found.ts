import { type FieldIssue, HoltError, type Scope } from '@holt/protocol'
import { closestMatch } from 'leven'
import { hasScopeOf } from '../request/caller.ts'
import { actingRequest } from '../request/request-context.ts'

/** The kinds of things that a request can name, with their nouns in messages. */
const nouns = {
  runtime_not_found: 'runtime',
  template_not_found: 'template',
  build_not_found: 'build',
  context_not_found: 'build context',
  command_not_found: 'command',
  session_not_found: 'session',
  code_context_not_found: 'code context',
  code_run_not_found: 'run of code',
  snapshot_not_found: 'snapshot',
  policy_not_found: 'network policy',
  secret_not_found: 'secret',
  provider_not_found: 'identity provider',
  key_not_found: 'key',
  webhook_not_found: 'webhook',
  delivery_not_found: 'delivery',
  project_not_found: 'project',
  host_not_found: 'host',
  join_token_not_found: 'join token',
} as const
type NotFoundCode = keyof typeof nouns

/** The kinds that have names, with the scope whose keys may list them. */
const readScopes = {
  template_not_found: 'template:read',
  snapshot_not_found: 'runtime:read',
  policy_not_found: 'policy:read',
  secret_not_found: 'secret:read',
  provider_not_found: 'secret:read',
  project_not_found: 'operator',
} as const satisfies Partial<Record<NotFoundCode, Scope>>
type NamedCode = keyof typeof readScopes

/** The maximum number of characters of a name in an answer. A valid name is shorter. */
const shownLength = 200

/**
 * The maximum number of compared names, so that the cost of a wrong name does not grow with the
 * project.
 */
export const comparedNames = 200

/** The maximum number of wrong characters of a misspelt name. */
const maxDistance = 3

interface Told {
  readonly nearest?: string | null
  readonly hint?: string
  readonly issues?: readonly FieldIssue[]
}

/** Returns the error for a thing that a request names by its id. */
export function idNotFound(code: NotFoundCode, id: string, told: Told = {}): HoltError {
  return notFound(code, `No ${nouns[code]} has the id ${shown(id)}.`, id, told)
}

/** Returns the error for a session, which is named and which only the guest lists. */
export function sessionNotFound(name: string): HoltError {
  return notFound('session_not_found', `No session is named ${shown(name)}.`, name, {})
}

/** Returns the error for a language that the code interpreter of a runtime lacks. */
export function languageNotFound(language: string, languages: readonly string[]): HoltError {
  const known = languages.length === 0 ? '' : ` It has ${languages.join(', ')}.`
  return new HoltError('language_not_found', `The code interpreter has no language ${shown(language)}.${known}`, {
    details: { name: shown(language), languages },
  })
}

/**
 * Returns the error for a thing that a request names by its name, with the nearest name. `names`
 * lists those of the project. It is only called for a key that may list them.
 */
export async function nameNotFound(
  code: NamedCode,
  name: string,
  names: () => Promise<readonly (string | null)[]>,
  told: Omit<Told, 'nearest'> = {},
): Promise<HoltError> {
  const nearest = mayList(code) ? nearestOf(name, await names()) : null
  const question = nearest === null ? '' : ` Did you mean ${nearest}?`
  return notFound(code, `No ${nouns[code]} is named ${shown(name)}.${question}`, name, { ...told, nearest })
}

function notFound(code: NotFoundCode, message: string, name: string, { nearest = null, hint, issues }: Told) {
  const details = { name: shown(name), nearest, ...(issues === undefined ? {} : { issues }) }
  return new HoltError(code, message, hint === undefined ? { details } : { details, hint })
}

/**
 * Returns true if the current key may list the names. A build continues after its request was
 * answered. Its log, which names templates, needs the scope that lists them.
 */
function mayList(code: NamedCode): boolean {
  const acting = actingRequest()
  return acting === null ? code === 'template_not_found' : hasScopeOf(acting.scopes, readScopes[code])
}

function nearestOf(name: string, names: readonly (string | null)[]): string | null {
  // A few wrong characters are most of a short name.
  const most = Math.min(maxDistance, Math.floor(name.length * 0.4))
  const known = names.filter((one) => one !== null)
  return name.length > shownLength ? null : (closestMatch(name, known, { maxDistance: most }) ?? null)
}

function shown(name: string): string {
  return name.length > shownLength ? `${name.slice(0, shownLength)}...` : name
}
