import { AttachedRuntime, type SharedParts } from './attached-runtime.ts'
import type { AttachOptions, EgressSettings, Log, RuntimeEgress } from './contract.ts'
import { makeServerList } from './resolver/servers.ts'
import { makeTerminator } from './terminate/make-terminator.ts'
import { makeUpstreamRules } from './upstream/find-upstream.ts'

/**
 * The gateway of an installation: what the operator set, for every runtime and build that is
 * attached.
 */
export class Gateway {
  readonly #shared: SharedParts

  /** Throws an `Error` that quotes the setting that is wrong. */
  constructor(options: { settings: EgressSettings; log: Log }) {
    this.#shared = {
      upstreamRules: makeUpstreamRules(options.settings),
      servers: makeServerList(options.settings.resolvers),
      terminator: makeTerminator(options.settings.extraCaPem),
      log: options.log,
    }
  }

  /** Makes the way out of one runtime or build. Its connections come in through `accept`. */
  attach(options: AttachOptions): RuntimeEgress {
    return new AttachedRuntime(options, this.#shared)
  }
}
