import type { UpdateRuntimeInput } from '@holt/sdk'

/** The texts of the form of a deadline. An empty one means no change. */
export const emptySettings = { timeout: '', on_timeout: '', idle_timeout: '', auto_resume: '' }

/** The fields of the form by name. */
export type SettingsFields = Readonly<typeof emptySettings>

/** Returns the change that the fields describe: only what was filled in. */
export function changeOf({ timeout, on_timeout, idle_timeout, auto_resume }: SettingsFields): UpdateRuntimeInput {
  const change = {
    timeout_secs: secondsOf(timeout),
    on_timeout: on_timeout === '' ? undefined : on_timeout,
    idle_timeout_secs: secondsOf(idle_timeout),
    auto_resume: auto_resume === '' ? undefined : auto_resume === 'yes',
  }
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}

/** Returns minutes as seconds. Null: no end. Undefined: no change. */
function secondsOf(minutes: string): number | null | undefined {
  const text = minutes.trim()
  if (text === '') return undefined
  return text === 'none' ? null : Number(text) * 60
}
