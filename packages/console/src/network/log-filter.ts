import type { Decision } from './allow-rules.ts'

/** The decisions that a person can choose to see, with their names. */
export const decisions = { all: 'All', denied: 'Denied', allowed: 'Allowed' } as const

/** Returns the lines with a decision, and with a text in any part of them; newest first. */
export function findLines(lines: readonly Decision[], decided: string, text: string): readonly Decision[] {
  const sought = text.trim().toLowerCase()
  return lines
    .filter((line) => {
      if (decided !== 'all' && line.allowed !== (decided === 'allowed')) return false
      const { name, address, port, rule, method, path, secret, process } = line
      const parts = [name, address, rule, method, path, secret, process?.name, port === null ? null : `:${port}`]
      return parts.some((part) => part?.toLowerCase().includes(sought) === true)
    })
    .toReversed()
}

const reasons: Readonly<Record<string, string>> = {
  no_rule: 'no rule allows it',
  no_policy: 'there is no policy',
  non_public: 'the address is not public',
  request_denied: 'no rule allows this request',
}

/** Returns the rule that allowed a line, or the reason for its denial in words. */
export function ruleOf({ rule, allowed }: Decision): string {
  return allowed || !Object.hasOwn(reasons, rule) ? rule : (reasons[rule] ?? rule)
}

/** Returns the destination of a line: `api.example.com:443`. */
export function destinationOf({ name, address, port }: Decision): string {
  return `${name ?? address ?? 'unknown'}${port === null ? '' : `:${port}`}`
}
