/** Variables that say who a process is, and where: a runtime sets its own, whatever image it is made from. */
export const platformKeys: ReadonlySet<string> = new Set(['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'])

/** Returns the variables of `env` that are platform keys, or those that are none, in the order of their names. */
export function splitEnv(
  env: Readonly<Record<string, string>>,
  which: 'platform' | 'other',
): Readonly<Record<string, string>> {
  const isWanted = (name: string) => platformKeys.has(name) === (which === 'platform')
  return Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => isWanted(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
