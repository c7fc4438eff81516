import type { Api } from '../../api/api.ts'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'

/** Returns the configuration of the entry, through which the request has come. */
export function e2bConfig({ config: { e2b } }: Api): E2bConfig {
  if (e2b === null) throw new Error('the entry for E2B is off')
  return e2b
}
