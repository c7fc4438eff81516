/**
 * Variables that describe the identity and place of a process. A runtime sets its own, regardless
 * of its image.
 */
export const platformKeys: ReadonlySet<string> = new Set(['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'])

/** Returns the variables of `env` that are platform keys, or those that are not, sorted by name. */
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
