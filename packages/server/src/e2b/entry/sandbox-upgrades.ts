import type { IncomingMessage } from 'node:http'
import { E2bError, type Entry, envdPort } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { breakOff } from '../../foundation/wire/break-off.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import type { Upgrade, UpgradeHandler } from '../../foundation/wire/upgrades.ts'
import { upgradeOf } from '../../inside/ports/forward-headers.ts'
import { forwardVisitUpgrade } from '../../inside/ports/forward-visit.ts'
import { visitByUpgrade } from '../../inside/ports/serve-ports.ts'
import { e2bErrorOf, writeErrorOnSocket } from '../answers/write-answer.ts'
import { hidesFromHosts, type SandboxPort, sandboxWay } from '../ports/sandbox-way.ts'
import { portError } from '../ports/serve-sandbox-port.ts'

/**
 * Returns the handler of upgrades. Only ports of runtimes change protocols. At other places of the
 * entry an upgrade is refused here, so that no handler of Holt's own API takes it.
 */
export function sandboxUpgrades(
  service: Api,
  { forwarder, findEntry }: { forwarder: Forwarder | null; findEntry: (request: IncomingMessage) => Entry },
): UpgradeHandler {
  const entryFor = (request: IncomingMessage): Entry | null => {
    const vouch = vouchOf(request.socket)
    // The host that has forwarded it has found that Holt's own API answers.
    if (vouch !== null && vouch.surface !== 'e2b') return null
    const entry = upgradeOf(request) === null ? null : findEntry(request)
    return entry === null || entry.type === 'holt' ? null : entry
  }
  return {
    claims: (request) => entryFor(request) !== null,
    open: async (upgrade) => {
      const entry = entryFor(upgrade.request)
      if (entry?.type === 'sandbox' && entry.port !== envdPort)
        await open(service, forwarder, { place: entry, upgrade })
      else refuse(service, upgrade)
    },
  }
}

function refuse({ metrics }: Api, { request, socket, requestId }: Upgrade): void {
  const failure = new E2bError(404, 'This path does not change protocols')
  const method = request.method ?? 'GET'
  metrics.http.begin()({ method, route: 'none', status: failure.status, seconds: 0, surface: 'e2b' })
  writeErrorOnSocket(socket, failure, requestId)
}

async function open(
  service: Api,
  forwarder: Forwarder | null,
  { place, upgrade }: { readonly place: SandboxPort; readonly upgrade: Upgrade },
): Promise<void> {
  const { request, socket } = upgrade
  const vouch = vouchOf(request.socket)
  const requestId = vouch?.requestId ?? upgrade.requestId
  const note = (status: number) => service.metrics.http.notePort(request.method ?? 'GET', status)
  const leave = service.visits.enter(place.sandboxId, () => breakOff(socket))
  socket.once('close', leave)
  try {
    const visit = { ...upgrade, requestId, way: sandboxWay(service, place, request) }
    const status =
      forwarder !== null && vouch === null
        ? await forwardVisitUpgrade(service, forwarder, { ...visit, hides: hidesFromHosts })
        : null
    note(status ?? (await visitByUpgrade(service, visit)))
  } catch (error) {
    const failure = e2bErrorOf(service, portError(place, error), requestId)
    note(failure.status)
    writeErrorOnSocket(socket, failure, requestId)
  }
}
