const singularOf: Readonly<Record<string, string>> = {
  templates: 'template',
  snapshots: 'snapshot',
  keys: 'key',
  secrets: 'secret',
  policies: 'policy',
  providers: 'provider',
  projects: 'project',
  webhooks: 'webhook',
  sessions: 'session',
}

/** Verbs without commands of their own, in the other number. */
const otherNumber: Readonly<Record<string, string>> = { ports: 'port', event: 'events', log: 'logs', stat: 'stats' }

/**
 * Returns the arguments with the verb in the number that it is known in. The plural of things alone
 * lists them.
 */
export function inKnownNumber(args: readonly string[]): readonly string[] {
  const [verb = '', ...others] = args
  const singular = Object.hasOwn(singularOf, verb) ? singularOf[verb] : undefined
  // The sessions are those of a runtime, which has to be named.
  if (singular !== undefined) return [singular, ...(others.length === 0 && singular !== 'session' ? ['ls'] : others)]
  const other = Object.hasOwn(otherNumber, verb) ? otherNumber[verb] : undefined
  return other === undefined ? args : [other, ...others]
}
