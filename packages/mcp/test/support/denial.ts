import type { NetworkDecision } from '@holt/protocol'

/** Returns a connection that a policy denied, a minute from now on the clock of the service. */
export function denial(name: string, port: number): NetworkDecision {
  return {
    type: 'connect',
    cursor: 1,
    at: new Date(Date.now() + 60_000).toISOString(),
    name,
    address: null,
    port,
    allowed: false,
    rule: 'no_rule',
    method: null,
    path: null,
    bytes_sent: null,
    bytes_received: null,
    process: null,
    secret: null,
  }
}
