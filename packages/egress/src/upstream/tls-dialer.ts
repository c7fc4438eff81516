import type { TLSSocket } from 'node:tls'
import type { EgressSettings } from '../contract.ts'
import { canonicalName } from '../names/canonical-name.ts'
import { Resolver } from '../resolver/resolver.ts'
import { makeServerList } from '../resolver/servers.ts'
import { UpstreamTls } from '../terminate/tls/upstream-tls.ts'
import { DialError, dial } from './dial.ts'
import { findUpstream, makeUpstreamRules, type UpstreamRules } from './find-upstream.ts'

/**
 * Verified TLS for the service's own requests, under the rules that hold for runtimes: the gateway's resolvers, no address that is not public, the
 * operator's overrides and certificates. So nobody who names a host to the service reaches through it what a runtime may not.
 */
export class TlsDialer {
  readonly #rules: UpstreamRules
  readonly #resolver: Resolver
  readonly #tls: UpstreamTls

  /** Throws an `Error` that quotes the setting that is wrong. */
  constructor(settings: EgressSettings) {
    this.#rules = makeUpstreamRules(settings)
    this.#resolver = new Resolver(makeServerList(settings.resolvers))
    this.#tls = new UpstreamTls(settings.extraCaPem)
  }

  /** Connects to a name, speaking HTTP/1.1. Rejects with a `DialError` where it may not be reached or cannot. An address is no name. */
  async dial({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<TLSSocket> {
    const name = canonicalName(host)
    if (name === null) throw new DialError('bad_request')
    const found = await findUpstream({ name, port }, this.#rules, (asked) => this.#resolver.lookup(asked))
    if (found.type === 'refused') throw new DialError(found.reason)
    const socket = await dial(found.addresses, found.port, signal)
    return this.#tls.secure(socket, { name, protocols: ['http/1.1'], signal }, (secured) => secured)
  }
}
