import type { NetworkDecision } from '@holt/protocol'
import { deniedConnection } from '../../../sdk/test/support/samples.ts'

/** Returns a connection that a policy denied, a minute from now on the clock of the service. */
export function denial(name: string, port: number): NetworkDecision {
  return deniedConnection({ name, port, at: new Date(Date.now() + 60_000).toISOString() })
}
