import type { IncomingMessage, ServerResponse } from 'node:http'
import { E2bError, type Entry, entryOf, envdPort, PollingWatchers, sandboxHeaders, splitTarget } from '@holt/e2b'
import { makeId } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { MakeEntry } from '../../api/http/create-app.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'
import { runFor } from '../../foundation/request/request-context.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import { clientLeft } from '../../foundation/wire/client-gone.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import { requireOneFraming } from '../../foundation/wire/one-framing.ts'
import { placeOf } from '../../inside/ports/request-place.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeError } from '../answers/write-answer.ts'
import { serveControl } from '../control/serve-control.ts'
import { serveEnvd } from '../envd/serve-envd.ts'
import { serveSandboxPort } from '../ports/serve-sandbox-port.ts'
import { allowOrigins } from './allow-origins.ts'
import { entryNames } from './entry-names.ts'
import { sandboxUpgrades } from './sandbox-upgrades.ts'

/** Makes the entry for clients of E2B, which takes its requests before Holt's routes. */
export function e2bEntry(config: E2bConfig): MakeEntry {
  return (service, accounts, forwarder) => {
    const names = entryNames(service.config, config)
    const watchers = new PollingWatchers()
    service.closing.addEventListener('abort', () => watchers.close(), { once: true })
    const findEntry = (request: IncomingMessage): Entry => {
      // The host that has forwarded it may have other names.
      if ((vouchOf(request.socket)?.caller ?? null) !== null) return { type: 'control' }
      const place = placeOf(request)
      // Holt refuses a request whose host is ambiguous.
      if (place === null) return { type: 'holt' }
      const { [sandboxHeaders.id]: sandboxId, [sandboxHeaders.port]: sandboxPort } = request.headers
      return entryOf({ ...place, sandboxId: textOf(sandboxId), sandboxPort: textOf(sandboxPort) }, names)
    }
    return {
      answers: (request, response, lend) => {
        const entry = findEntry(request)
        if (entry.type === 'holt') return false
        if (entry.type === 'sandbox' && entry.port !== envdPort) lend()
        const asked = openRequest(service, request, response)
        // A program at a port decides about pages of other origins itself.
        const isOwn = entry.type !== 'sandbox' || entry.port === envdPort
        const isClient = vouchOf(request.socket) === null
        if (isOwn && isClient && allowOrigins(request, response, config.origins)) return true
        void answer(service, accounts, { entry, asked, watchers, forwarder: isClient ? forwarder : null })
        return true
      },
      upgrades: sandboxUpgrades(service, { forwarder, findEntry }),
    }
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header
}

/** Opens the records of a request: its id, its metrics and its line in the log. */
function openRequest({ metrics, log }: Api, request: IncomingMessage, response: ServerResponse): E2bRequest {
  const requestId = vouchOf(request.socket)?.requestId ?? makeId('request')
  const [path, query] = splitTarget(placeOf(request)?.target ?? '/')
  const asked: E2bRequest = { request, response, requestId, path, query, route: 'none', isPlaced: false }
  const ended = metrics.http.begin()
  const begunAt = performance.now()
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : clientLeft
    const [method, seconds] = [request.method ?? 'GET', (performance.now() - begunAt) / 1000]
    ended({ method, route: asked.route, status, seconds, surface: 'e2b' })
    const facts = { method, route: asked.route, status, ms: Math.round(seconds * 10_000) / 10 }
    log.debug({ request_id: requestId, surface: 'e2b', ...facts }, 'a request has ended')
  })
  return asked
}

interface Entered {
  readonly entry: Entry
  readonly asked: E2bRequest
  /** The watchers that the clients of the service poll. */
  readonly watchers: PollingWatchers
  /** Sends the request to another host. Null: this host answers. */
  readonly forwarder: Forwarder | null
}

async function answer(service: Api, accounts: RequestAccounts, entered: Entered): Promise<void> {
  const { asked } = entered
  try {
    await runFor({ requestId: asked.requestId, caller: null, span: null }, () => dispatch(service, accounts, entered))
  } catch (error) {
    writeError(service, asked, error)
  }
}

async function dispatch(
  service: Api,
  accounts: RequestAccounts,
  { entry, asked, watchers, forwarder }: Entered,
): Promise<void> {
  requireOneFraming(asked.request, asked.response)
  if (entry.type === 'control') return serveControl(service, { accounts, forwarder }, asked)
  if (entry.type === 'signed') return serveEnvd(service, { accounts, forwarder }, { asked, sandboxId: null, watchers })
  if (entry.type === 'sandbox') {
    const { sandboxId, port } = entry
    return port === envdPort
      ? serveEnvd(service, { accounts, forwarder }, { asked, sandboxId, watchers })
      : serveSandboxPort(service, forwarder, { place: entry, asked })
  }
  if (entry.type === 'incomplete')
    throw new E2bError(400, 'The headers E2b-Sandbox-Id and E2b-Sandbox-Port must name a sandbox and a port')
  throw new E2bError(404, 'There is no such name here')
}
