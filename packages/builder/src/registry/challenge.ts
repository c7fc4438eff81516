/** One way of authentication that a server accepts (RFC 9110, 11.6.1). */
export interface Challenge {
  /** The scheme in small letters. */
  readonly scheme: string
  /** The parameters, with names in small letters. */
  readonly parameters: Readonly<Record<string, string>>
}

const maxLength = 8 * 1024
const token = /[!#$%&'*+.^`|~\w-]+/y
const space = /[ \t]*/y
const comma = /[ \t]*,[ \t,]*/y
const quoted = /"((?:[^"\\]|\\.)*)"/sy

/** Reads `WWW-Authenticate` up to the first syntax error. */
export function readChallenges(text: string): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = []
  const source = text.slice(0, maxLength)
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  take(comma)
  while (at < source.length) {
    const name = take(token)?.[0]
    if (name === undefined) break
    take(space)
    if (source[at] !== '=' || challenges.length === 0) {
      challenges.push({ scheme: name.toLowerCase(), parameters: Object.create(null) })
      // Parameters follow, or the next challenge after a comma.
      take(comma)
      continue
    }
    at += 1
    take(space)
    const value = take(quoted)?.[1]?.replaceAll(/\\(.)/gs, '$1') ?? take(token)?.[0]
    const current = challenges.at(-1)
    if (value === undefined || current === undefined) break
    current.parameters[name.toLowerCase()] ??= value
    if (take(comma) === null && at < source.length) break
  }
  return challenges
}
