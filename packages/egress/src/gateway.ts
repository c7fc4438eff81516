import { AttachedRuntime, type SharedParts } from './attached-runtime.ts'
import type { AttachOptions, EgressSettings, Log, RuntimeEgress } from './contract/gateway-contract.ts'
import { makeServerList } from './resolver/servers.ts'
import { makeTerminator } from './terminate/make-terminator.ts'
import { makeUpstreamRules } from './upstream/find-upstream.ts'

/** The gateway of an installation: the operator's settings for every attached runtime and build. */
export class Gateway {
  readonly #shared: SharedParts

  /** Throws an `Error` that quotes the wrong setting. */
  constructor(options: { settings: EgressSettings; log: Log }) {
    this.#shared = {
      upstreamRules: makeUpstreamRules(options.settings),
      servers: makeServerList(options.settings.resolvers),
      terminator: makeTerminator(options.settings.extraCaPem),
      log: options.log,
    }
  }

  /** Makes the egress of one runtime or build. Its connections arrive through `accept`. */
  attach(options: AttachOptions): RuntimeEgress {
    return new AttachedRuntime(options, this.#shared)
  }
}
