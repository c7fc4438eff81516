const singularOf: Readonly<Record<string, string>> = {
  templates: 'template',
  snapshots: 'snapshot',
  keys: 'key',
  secrets: 'secret',
  policies: 'policy',
  providers: 'provider',
  projects: 'project',
  hosts: 'host',
  webhooks: 'webhook',
  sessions: 'session',
}

/** The verbs without subcommands, by their other number. */
const otherNumber: Readonly<Record<string, string>> = { ports: 'port', event: 'events', log: 'logs', stat: 'stats' }

/**
 * Returns the arguments with the verb in its known number. The plural of a thing alone lists the
 * things.
 */
export function inKnownNumber(args: readonly string[]): readonly string[] {
  const [verb = '', ...others] = args
  const singular = Object.hasOwn(singularOf, verb) ? singularOf[verb] : undefined
  // Sessions belong to a runtime, which must be named.
  if (singular !== undefined) return [singular, ...(others.length === 0 && singular !== 'session' ? ['ls'] : others)]
  const other = Object.hasOwn(otherNumber, verb) ? otherNumber[verb] : undefined
  return other === undefined ? args : [other, ...others]
}
