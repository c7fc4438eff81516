import { knownSettings, maxMisspelt, unknownSettings, unknownSettingWarning } from '@holt/protocol'
import { say, styled } from '../output/print.ts'
import { printable } from '../output/visible.ts'

/** Warns of each unknown variable that begins with `HOLT_`. */
export async function warnOfSettings(): Promise<void> {
  const unknown = unknownSettings(process.env)
  if (unknown.length === 0) return
  const { closestMatch } = await import('leven')
  for (const name of unknown) {
    const nearest = closestMatch(name, knownSettings, { maxDistance: maxMisspelt(name) })
    say(`${styled('yellow', 'warning')}: ${printable(unknownSettingWarning(name, nearest))}`)
  }
}

/** Returns the environment without the unknown variables, for a program that would warn again. */
export function withoutUnknownSettings(): NodeJS.ProcessEnv {
  const unknown = new Set(unknownSettings(process.env))
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !unknown.has(name)))
}
