import { type RlimitName, rlimitNames } from '@holt/protocol'
import { InvalidArgumentError } from 'commander'

type Value = number | 'unlimited'

/** Resource limits of a command. */
export type Ulimits = Readonly<Partial<Record<RlimitName, { readonly soft: Value; readonly hard: Value }>>>

/**
 * Collects resource limits: `name=soft`, or `name=soft:hard`. A later one of the same name wins.
 */
export function ulimit(text: string, before: Ulimits = {}): Ulimits {
  const [, name = '', soft = '', hard = soft] = /^(\w+)=([^:]+)(?::([^:]+))?$/.exec(text) ?? []
  if (!Object.hasOwn(rlimitNames, name))
    throw new InvalidArgumentError(`It must be NAME=SOFT[:HARD], NAME one of ${Object.keys(rlimitNames).join(', ')}.`)
  return { ...before, [name]: { soft: value(soft), hard: value(hard) } }
}

function value(text: string): Value {
  if (text === 'unlimited') return text
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A limit must be a whole number or "unlimited".')
  return Number(text)
}
