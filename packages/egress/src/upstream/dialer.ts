import { lookup } from 'node:dns/promises'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Address, contains, parseAddress } from '../addresses/parse-address.ts'
import type { EgressSettings } from '../contract/gateway-contract.ts'
import { canonicalName } from '../names/canonical-name.ts'
import type { Target } from '../policy/decide.ts'
import { Resolver } from '../resolver/resolver.ts'
import { makeServerList } from '../resolver/servers.ts'
import { DialError, dial } from './dial.ts'
import { findUpstream, makeUpstreamRules, type UpstreamRules } from './find-upstream.ts'
import { UpstreamTls } from './upstream-tls.ts'

/** The target of a connection of the service itself. */
export interface DialTarget {
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /**
   * True if the operator named this very host. It may have any address, and the host's own
   * resolution knows its name. Default: false.
   */
  readonly isOperators?: boolean
  /**
   * True if only a network that the operator has allowed, or the target of an override, may be
   * dialled. It is for unencrypted data. Default: false.
   */
  readonly onlyAllowedNetworks?: boolean
}

/**
 * Connections for the service's own requests, under the same rules as for runtimes: the gateway's
 * resolvers, no address that is not public, the operator's overrides and certificates. So a client
 * that names a host to the service reaches nothing that a runtime cannot reach.
 */
export class Dialer {
  readonly #rules: UpstreamRules
  readonly #resolver: Resolver
  readonly #tls: UpstreamTls

  /** Throws an `Error` that quotes the wrong setting. */
  constructor(settings: EgressSettings) {
    this.#rules = makeUpstreamRules(settings)
    this.#resolver = new Resolver(makeServerList(settings.resolvers))
    this.#tls = new UpstreamTls(settings.extraCaPem)
  }

  /** Connects. Rejects with a `DialError` if the host is forbidden or cannot be reached. */
  async dial(target: DialTarget, signal: AbortSignal): Promise<Socket> {
    const { connection } = await this.#connect(target, signal)
    return connection
  }

  /**
   * Connects and makes TLS verified to the host, for HTTP/1.1. Rejects like `dial`, or with the
   * failure of TLS.
   */
  async dialTls(target: DialTarget, signal: AbortSignal): Promise<TLSSocket> {
    const { connection, host } = await this.#connect(target, signal)
    return this.#tls.secure(connection, { name: host, protocols: ['http/1.1'], signal }, (secured) => secured)
  }

  async #connect(asked: DialTarget, signal: AbortSignal): Promise<{ connection: Socket; host: string }> {
    const { port, isOperators = false } = asked
    const target = targetOf(asked)
    if (target === null) {
      if (!isOperators || !ownName.test(asked.host) || !isPort(port)) throw new DialError('bad_request')
      return { connection: await dial(await ownLookup(asked.host), port, signal), host: asked.host }
    }
    const host = target.name ?? target.address.text
    const found = await findUpstream(target, this.#rules, (name) => this.#resolver.lookup(name))
    if (found.type === 'found') {
      const addresses =
        asked.onlyAllowedNetworks === true ? this.#allowedOf(found.addresses, host, port) : found.addresses
      return { connection: await dial(addresses, found.port, signal), host }
    }
    if (!isOperators) throw new DialError(found.reason)
    const addresses = target.name === null ? [target.address] : await ownLookup(target.name)
    return { connection: await dial(addresses, port, signal), host }
  }

  #allowedOf(found: readonly Address[], host: string, port: number): readonly Address[] {
    const { overrides, allowedNetworks } = this.#rules
    if (overrides.some((entry) => entry.host === host && entry.port === port)) return found
    const addresses = found.filter((address) => allowedNetworks.some((network) => contains(network, address)))
    if (addresses.length === 0) throw new DialError('non_public')
    return addresses
  }
}

/** A name of one part, which is only valid on this machine: `localhost`, `registry`. */
const ownName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

function targetOf({ host, port }: DialTarget): Target | null {
  if (!isPort(port)) return null
  const address = parseAddress(host)
  if (address !== null) return { name: null, address, port }
  const name = canonicalName(host)
  return name === null ? null : { name, port }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535
}

/** Resolves a name with the host's own resolution, including `localhost` and `/etc/hosts`. */
async function ownLookup(name: string): Promise<readonly Address[]> {
  // A name that does not exist has no addresses.
  const found = await lookup(name, { all: true }).catch(() => [])
  const addresses = found.flatMap(({ address }) => parseAddress(address) ?? [])
  if (addresses.length === 0) throw new DialError('name_not_found')
  return addresses
}
