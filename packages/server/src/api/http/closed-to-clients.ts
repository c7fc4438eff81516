import { HoltError, routes } from '@holt/protocol'
import type { ServerConfig } from '../../foundation/config/config.ts'
import { fencedError } from '../../foundation/host/require-own.ts'
import type { UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import type { Api } from '../api.ts'

/** The paths that every host answers, also one that is closed to clients. */
export const alwaysOpen: ReadonlySet<string> = new Set([routes.health.path, routes.readiness.path, routes.metrics.path])

/** Returns true if a host is a worker: it answers requests that fronts forward, and no clients. */
export function answersFrontsAlone({ fleet }: Pick<ServerConfig, 'fleet'>): boolean {
  return fleet?.role === 'worker'
}

/**
 * Returns the error with which this host refuses the requests of clients. Null: it answers them. A
 * worker never does, and a fenced host does again when it has the store.
 */
export function closedToClients({ config, thisHost }: Pick<Api, 'config' | 'thisHost'>): HoltError | null {
  if (answersFrontsAlone(config))
    return new HoltError('unavailable', 'This host is a worker. It answers no clients.', {
      hint: 'Send the request to a front of the fleet.',
      details: { reason: 'worker' },
    })
  return thisHost.fenced ? fencedError() : null
}

/** Refuses every other protocol while this host is closed to clients. */
export function refusedWhileClosed(service: Pick<Api, 'config' | 'thisHost'>): UpgradeHandler {
  return {
    claims: () => closedToClients(service) !== null,
    open: async () => {
      throw closedToClients(service) ?? fencedError()
    },
  }
}
