import type { IncomingMessage } from 'node:http'
import { type Entry, envdPort } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import { upgradeOf } from '../../inside/ports/forward-headers.ts'

/** Returns the handler of upgrades for ports of runtimes. Other entries do not change protocols. */
export function sandboxUpgrades(_service: Api, findEntry: (request: IncomingMessage) => Entry): UpgradeHandler {
  return {
    claims: (request) => {
      const entry = findEntry(request)
      return upgradeOf(request) !== null && entry.type === 'sandbox' && entry.port !== envdPort
    },
    open: async () => {
      throw new HoltError('port_not_listening', 'Nothing listens on the port.')
    },
  }
}
