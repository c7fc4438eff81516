/** The path of a value in an answer. */
export type Place = readonly (string | number)[]

/**
 * Fields that may have any text without NUL, without halves of surrogate pairs, and within the
 * length limit.
 */
const freeTexts: readonly string[] = ['command', 'argv', 'problems', 'symlink_target', 'text', 'message', 'label']

const attack = '$(touch /tmp/PWNED)'

/** Values that are never a valid text of a guest. */
const noText: readonly unknown[] = ['a\0b', '\ud800', 'x'.repeat(600_000), 7, true, [], {}]

/** Values that are never a valid name of a guest. */
const noName: readonly unknown[] = [
  ...noText,
  '',
  attack,
  `a${attack}`,
  '`id`',
  'a b',
  "a'b",
  'a"b',
  'a\nb',
  'a\u001b[2J',
  'a\u009b2J',
  'a\u202eb',
  '-x\u0000',
]

/** Values that are never a valid path of a guest. */
const noPath: readonly unknown[] = [
  ...noText,
  '',
  'relative',
  '../up',
  '/d/../../up',
  '/d/./f',
  '/d//f',
  '/d/f/',
  '/elsewhere/f',
  'C:\\d',
]

/** Returns the places of all values of an answer, without objects and lists. */
export function placesOf(value: unknown, at: Place = []): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return Object.entries(value).flatMap(([key, inner]) =>
    placesOf(inner, [...at, Array.isArray(value) ? Number(key) : key]),
  )
}

/** Returns values that an honest guest never gives at a place. */
export function liesAt(place: Place, honest: unknown): readonly unknown[] {
  const field = place.findLast((part) => typeof part === 'string') ?? ''
  // A file may be from before 1970.
  if (field === 'modified_at_ms') return [1.5, 2 ** 60, '7', attack, true, [], {}]
  if (typeof honest === 'number') return [-1, 1.5, 2 ** 60, '7', attack, true, [], {}]
  if (typeof honest === 'boolean') return [attack, 0, [], {}]
  if (freeTexts.includes(field)) return noText
  // A shell reports its directory verbatim, so a doubled slash is valid.
  if (field === 'cwd') return [...noText, '', 'relative', '../up', 'C:\\d']
  if (field === 'shell') return noPath.filter((lie) => lie !== '/elsewhere/f')
  // Zero bytes are valid base64.
  if (field === 'data') return noName.filter((lie) => lie !== '')
  return field === 'path' || field === 'from' ? noPath : noName
}

/** Returns an answer with another value at a place. */
export function withLie<Answer>(answer: Answer, place: Place, lie: unknown): Answer {
  const copy = structuredClone(answer)
  let at = copy as Record<string | number, unknown>
  for (const part of place.slice(0, -1)) at = at[part] as Record<string | number, unknown>
  at[place.at(-1) ?? ''] = lie
  return copy
}

/** Returns the value at a place of an answer. */
export function valueAt(answer: unknown, place: Place): unknown {
  return place.reduce<unknown>((value, part) => (value as Record<string | number, unknown>)[part], answer)
}
