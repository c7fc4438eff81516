import { knownSettings, maxMisspelt, unknownSettings, unknownSettingWarning } from '@holt/protocol'
import { closestMatch } from 'leven'

/** Returns a warning for each variable that begins with `HOLT_` and that nothing reads. */
export function settingWarnings(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return unknownSettings(env).map((name) =>
    unknownSettingWarning(name, closestMatch(name, knownSettings, { maxDistance: maxMisspelt(name) })),
  )
}
