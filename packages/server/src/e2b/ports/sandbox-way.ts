import type { IncomingMessage } from 'node:http'
import { E2bError, sandboxGone, sandboxHeaders } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { recognise } from '../../api/http/connections.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { vouchOf } from '../../foundation/request/vouch.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { type Admission, admitToPort, admitVouched, type PortMasks } from '../../inside/ports/admit-to-port.ts'
import type { PortWay } from '../../inside/ports/enter-port.ts'
import { takeCredentials } from '../../inside/ports/port-credentials.ts'
import { ambiguous } from '../../inside/ports/port-target.ts'
import { placeOf } from '../../inside/ports/request-place.ts'
import { isSandboxToken } from '../../inside/ports/sandbox-token.ts'
import { findSandbox } from '../sandbox/find-sandbox.ts'
import { sandboxSettingsOf } from '../sandbox/sandbox-settings.ts'

/** The header with the token for the ports of a runtime that are not public, in lower case. */
const trafficHeader = 'e2b-traffic-access-token'

/** The headers that are for this service alone, in lower case. */
const ownHeaders: ReadonlySet<string> = new Set([trafficHeader, ...Object.values(sandboxHeaders)])

/** A key of this service, in either of its forms. */
const keyText = /^(?:holt_|e2b_[0-9a-f]{40}$)/

/** The port of a runtime that a request is for. */
export interface SandboxPort {
  readonly sandboxId: string
  readonly port: number
  /** The way in which the request names it. */
  readonly by: 'host' | 'headers'
}

/** Returns true for a header that does not go to another host with a visit. */
export function hidesFromHosts(name: string, value: string): boolean {
  return name === trafficHeader || isKey(name, value)
}

/**
 * Returns the way of a request to a port of a runtime. Ports of a runtime that a client of E2B made
 * are public, or need its traffic token. Ports of other runtimes are as private as by Holt's own
 * addresses.
 */
export function sandboxWay(service: Api, { sandboxId, port, by }: SandboxPort, request: IncomingMessage): PortWay {
  const place = placeOf(request)
  if (place === null) throw ambiguous()
  const form = by === 'host' ? 'host' : 'shared'
  const target = { form, runtimeId: sandboxId, port, prefix: '', path: place.target, bare: false } as const
  const credentials = takeCredentials(request, place.target)
  const vouch = vouchOf(request.socket)
  // Clients use only TLS for names. Without TLS here, a proxy has ended it.
  const scheme = vouch?.isSecure === true || (by === 'host' && service.config.tls === null) ? 'https' : null
  return { target, credentials, scheme, admit }

  async function admit(): Promise<Admission> {
    const row = await findSandbox(service, sandboxId)
    const settings = sandboxSettingsOf(row)
    const masks = masksOf(service, { row, port, mask: settings?.maskRequestHost ?? null })
    const open = { row, credential: null, expiresAt: null, masks } as const
    if (settings?.publicPorts === true) return { ...open, by: 'public' }
    if (vouch !== null) return { ...(await admitVouched(service, target, vouch)), masks }
    if (settings === null || hasOwnCredentials()) return { ...(await admitByHolt()), masks }
    const text = request.headers[trafficHeader]
    if (typeof text !== 'string' || !isSandboxToken(service.portSecret, 'traffic', { holder: row, text }))
      throw trafficRefused(sandboxId)
    recognise(request.socket, row.project_id)
    return { ...open, by: 'token' }
  }

  function hasOwnCredentials(): boolean {
    const { token, cookies, authorization } = credentials
    return token !== null || cookies.length > 0 || (by === 'headers' && authorization !== null)
  }

  /** Admits a request by Holt's own rules. A private port is the same as a missing runtime. */
  async function admitByHolt(): Promise<Admission> {
    // Without a key, a request is judged as at an address of its own, which reveals nothing.
    const judged = credentials.authorization === null ? ({ ...target, form: 'host' } as const) : target
    try {
      return await admitToPort(service, judged, credentials, clientAddress(request))
    } catch (error) {
      throw error instanceof HoltError && error.code === 'runtime_not_found' ? sandboxGone(sandboxId) : error
    }
  }
}

/** Returns the error for a request without the traffic token of a runtime. */
function trafficRefused(sandboxId: string): E2bError {
  const message = 'The ports of the sandbox are not public: send its token in E2b-Traffic-Access-Token'
  return new E2bError(403, message, { fields: { sandboxId } })
}

/**
 * Returns the changes of headers for a program: the Host of the create, and no token or key of this
 * service. Headers of the same names with other values are the program's own.
 */
function masksOf(
  { portSecret }: Api,
  { row, port, mask }: { row: RuntimeRow; port: number; mask: string | null },
): PortMasks {
  const host = mask?.replaceAll(/\$\{PORT\}/g, String(port)) ?? null
  return {
    host: host === null || !/^[\x21-\x7e]{1,255}$/.test(host) ? null : host,
    hides: (name, value) => {
      if (ownHeaders.has(name)) return true
      if (name === 'x-access-token') return isSandboxToken(portSecret, 'envd', { holder: row, text: value })
      return isKey(name, value)
    },
  }
}

/** Returns true for a header with a key of this service. */
function isKey(name: string, value: string): boolean {
  if (name === 'x-api-key') return keyText.test(value)
  return name === 'authorization' && /^bearer +/i.test(value) && keyText.test(value.replace(/^bearer +/i, ''))
}
