import type { IncomingMessage } from 'node:http'
import { HoltError, isIdParam, PortNumber } from '@holt/protocol'
import type { PortDomain } from '../../foundation/config/config.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { placeOf } from './request-place.ts'

/** The port that a request is for. */
export interface PortTarget {
  /**
   * `host`: an origin of its own. `path`: below the API's. `tcp`: a raw connection, below the
   * API's. `shared`: the origin of the API, where headers name the port.
   */
  readonly form: 'host' | 'path' | 'tcp' | 'shared'
  readonly runtimeId: string
  readonly port: number
  /** The part of the path that identifies the port. Empty in the host form. */
  readonly prefix: string
  /** The path and query for the program, which still contain the token. */
  readonly path: string
  /** True if the path form lacks the slash after the port's part. */
  readonly bare: boolean
}

/**
 * The destination of a request, determined once from the Host header and the target. `refused`: the
 * request is ambiguous.
 */
export type Destination = 'api' | 'port' | 'refused'

const pathForm = /^(\/v1\/agents\/runtime\/([^/?]*)\/ports\/([^/?]*)\/(proxy|tcp))(?=[/?]|$)/

/**
 * Returns the destination of a request. Names below the domain of ports never reach the API. Other
 * names reach a port only in the path form.
 */
export function destinationOf(request: IncomingMessage, domain: PortDomain): Destination {
  const place = placeOf(request)
  if (place === null) return 'refused'
  const { host, target } = place
  if (isBelow(host, domain)) return 'port'
  const kind = pathForm.exec(target)?.[4]
  return kind === 'proxy' || (kind === 'tcp' && request.headers.upgrade?.toLowerCase() === 'tcp') ? 'port' : 'api'
}

/** Returns the port of a request. Throws the client's error. */
export function portTargetOf(request: IncomingMessage, domain: PortDomain): PortTarget {
  const place = placeOf(request)
  if (place === null) throw ambiguous()
  const { host, target } = place
  if (isBelow(host, domain)) return hostTarget(host.slice(0, -domain.name.length - 1), target)
  const [, prefix = '', runtimeId = '', portText = '', kind] = pathForm.exec(target) ?? []
  const rest = target.slice(prefix.length)
  return {
    form: kind === 'tcp' ? 'tcp' : 'path',
    runtimeId,
    port: parsePort(portText, '/path/port'),
    prefix,
    path: rest.startsWith('/') ? rest : `/${rest}`,
    bare: !rest.startsWith('/'),
  }
}

/** Returns the error for an ambiguous request. */
export function ambiguous(): HoltError {
  return new HoltError('invalid_request', 'The host of the request is ambiguous.', {
    hint: 'Send one Host header, and a target and a TLS server name that agree with it.',
  })
}

function hostTarget(label: string, target: string): PortTarget {
  const [, portText, runtimeId = ''] = /^(.*)-(rt[^-]*)$/s.exec(label) ?? []
  if (portText === undefined || !isIdParam('runtime_id', runtimeId))
    throw new HoltError('runtime_not_found', 'There is no such runtime.')
  return { form: 'host', runtimeId, port: parsePort(portText, '/host/port'), prefix: '', path: target, bare: false }
}

function parsePort(text: string, pointer: string): number {
  const parsed = PortNumber.safeParse(text)
  if (parsed.success) return parsed.data
  throw invalidField(pointer, parsed.error.issues[0]?.message ?? 'must be a port')
}

function isBelow(host: string, { name }: PortDomain): boolean {
  return host.endsWith(`.${name}`)
}
