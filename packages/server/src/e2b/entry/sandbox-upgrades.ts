import type { IncomingMessage } from 'node:http'
import { type Entry, envdPort } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import type { Upgrade, UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import { upgradeOf } from '../../inside/ports/forward-headers.ts'
import { visitByUpgrade } from '../../inside/ports/serve-ports.ts'
import { e2bErrorOf, writeErrorOnSocket } from '../answers/write-answer.ts'
import { type SandboxPort, sandboxWay } from '../ports/sandbox-way.ts'
import { portError } from '../ports/serve-sandbox-port.ts'

/** Returns the handler of upgrades for ports of runtimes. Other entries do not change protocols. */
export function sandboxUpgrades(service: Api, findEntry: (request: IncomingMessage) => Entry): UpgradeHandler {
  const portOf = (request: IncomingMessage): SandboxPort | null => {
    const entry = upgradeOf(request) === null ? null : findEntry(request)
    return entry?.type === 'sandbox' && entry.port !== envdPort ? entry : null
  }
  return {
    claims: (request) => portOf(request) !== null,
    open: async (upgrade) => {
      const place = portOf(upgrade.request)
      if (place !== null) await open(service, place, upgrade)
    },
  }
}

async function open(service: Api, place: SandboxPort, upgrade: Upgrade): Promise<void> {
  const { request, socket, requestId } = upgrade
  const note = (status: number) => service.metrics.http.notePort(request.method ?? 'GET', status)
  const leave = service.visits.enter(place.sandboxId, () => breakOff(socket))
  socket.once('close', leave)
  try {
    note(await visitByUpgrade(service, { ...upgrade, way: sandboxWay(service, place, request) }))
  } catch (error) {
    const failure = e2bErrorOf(service, portError(place, error), requestId)
    note(failure.status)
    writeErrorOnSocket(socket, failure, requestId)
  }
}
