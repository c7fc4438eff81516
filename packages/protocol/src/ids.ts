import { z } from 'zod'

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'
const randomLength = 20

/** The two letters at the beginning of each kind of id. */
export const idPrefixes = {
  runtime: 'rt',
  template: 'tm',
  command: 'cm',
  key: 'ky',
  event: 'ev',
  request: 'rq',
  project: 'pr',
  policy: 'np',
  secret: 'se',
  provider: 'ip',
  build: 'bd',
  context: 'cx',
  snapshot: 'sn',
  webhook: 'wh',
  delivery: 'wd',
  audit: 'au',
  code_run: 'cr',
  code_context: 'cc',
  host: 'ho',
  join_token: 'jt',
} as const

/** A kind of id. */
export type IdKind = keyof typeof idPrefixes

declare const brand: unique symbol

/** An id: its kind's prefix and 20 characters of `[a-z0-9]` (103 random bits), one DNS label. */
export type Id<Kind extends IdKind> = string & { readonly [brand]: Kind }

/** Makes a new random id. */
export function makeId<Kind extends IdKind>(kind: Kind): Id<Kind> {
  return `${idPrefixes[kind]}${randomText(randomLength)}` as Id<Kind>
}

/**
 * A supply of random bytes. One call of the random source costs more than an id, so many are
 * fetched at once.
 */
const pool = new Uint8Array(1024)
let used = pool.length

/** Returns random text of `[a-z0-9]` without bias. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    text += characterOf(pool[used] ?? 0)
    used += 1
  }
  return text
}

/** Returns random bytes as text of `[a-z0-9]` without bias. */
export function textOfBytes(bytes: Uint8Array): string {
  return Array.from(bytes, characterOf).join('')
}

/**
 * Returns the character for a byte. Bytes past the last whole multiple of 36 give none, because
 * some characters would be likelier with them.
 */
function characterOf(byte: number): string {
  return byte < 252 ? (alphabet[byte % 36] ?? '') : ''
}

const idPatterns = new Map<IdKind, RegExp>()

function idPattern(kind: IdKind): RegExp {
  const known = idPatterns.get(kind)
  if (known !== undefined) return known
  const pattern = new RegExp(`^${idPrefixes[kind]}[a-z0-9]{20}$`)
  idPatterns.set(kind, pattern)
  return pattern
}

/** Returns the schema of one kind of id. */
export function idSchema<Kind extends IdKind>(kind: Kind) {
  return z
    .string()
    .regex(
      idPattern(kind),
      `must be a ${kind} id: ${idPrefixes[kind]} and 20 characters of a-z and 0-9`,
    ) as unknown as z.ZodType<Id<Kind>, string>
}

const idParams = {
  runtime_id: 'runtime',
  command_id: 'command',
  run_id: 'code_run',
  key_id: 'key',
  policy_id: 'policy',
  secret_id: 'secret',
  provider_id: 'provider',
  build_id: 'build',
  context_id: 'context',
  snapshot_id: 'snapshot',
  webhook_id: 'webhook',
  delivery_id: 'delivery',
  project_id: 'project',
  token_id: 'join_token',
} as const

/**
 * Returns true if a path parameter has the form of its id. A value of another form is answered as a
 * missing thing.
 */
export function isIdParam(name: keyof typeof idParams, value: string): boolean {
  return idPattern(idParams[name]).test(value)
}
