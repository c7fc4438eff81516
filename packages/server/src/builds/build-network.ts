import {
  type Decision,
  type DenialReason,
  inspectionOf,
  makeEffectivePolicy,
  makeRuntimeCa,
  type RuntimeEgress,
} from '@holt/egress'
import type { GuestNetwork } from '@holt/guest-client'
import { HoltError, type PolicyBody } from '@holt/protocol'
import { guestSide } from '../resources/network/runtime-networks.ts'
import type { BuildReporter } from './build-reporter.ts'
import type { Builds } from './builds.ts'

/** The maximum number of distinct denials in a build's log. */
const maxTold = 200

/** The denials that are failures outside, and not decisions. */
const failures: ReadonlySet<string> = new Set<DenialReason>([
  'name_not_found',
  'resolver_failed',
  'upstream_refused',
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_tls_failed',
])

/** The policy of a network, and the log that gets its denials. */
interface NetworkParts {
  /** The policy. Null: no network. */
  readonly policy: PolicyBody | null
  readonly reporter: Pick<BuildReporter, 'logOfStep'>
}

/** The network of the runtimes of a build. Each runtime has its own connection to the gateway. */
export class BuildNetwork {
  readonly #service: Builds
  readonly #parts: NetworkParts
  readonly #open = new Map<string, RuntimeEgress>()
  readonly #told = new Set<string>()
  readonly #ca = makeRuntimeCa('Holt build')

  constructor(service: Builds, parts: NetworkParts) {
    this.#service = service
    this.#parts = parts
    this.#ca.catch(() => {}) // Whoever opens a network sees the failure.
  }

  /**
   * Opens the network of a runtime, and returns the settings for its guest. Null if the build may
   * reach nothing.
   */
  async open(runtimeId: string, signal: AbortSignal): Promise<GuestNetwork | null> {
    const { policy } = this.#parts
    if (policy === null) return null
    const ability = this.#service.engine.ability('egress')
    if (ability === null) throw new HoltError('not_supported_here', 'Runtimes of this host cannot have a network.')
    const ca = await this.#ca
    const effective = makeEffectivePolicy(policy)
    this.#open.get(runtimeId)?.close()
    const egress = this.#service.builds.gateway.attach({
      id: runtimeId,
      policy: effective,
      secrets: [],
      ca,
      onDecision: (decision) => this.#tell(decision),
    })
    this.#open.set(runtimeId, egress)
    await ability.open(runtimeId, (connection) => egress.accept(connection))
    const tun = await ability.prepareTun(runtimeId, signal)
    // Only where the gateway ends TLS has anybody to trust it; else the image stays without our
    // certificate.
    const isEnded = inspectionOf(effective, []).some(({ inspection }) => inspection === 'terminated')
    return { ...guestSide, tun, ca_certificates: isEnded ? [ca.certificatePem] : [] }
  }

  /** Closes the network of a runtime. A missing one is success. */
  async close(runtimeId: string): Promise<void> {
    const egress = this.#open.get(runtimeId)
    this.#open.delete(runtimeId)
    egress?.close()
    if (egress !== undefined) await this.#service.engine.ability('egress')?.close(runtimeId)
  }

  async closeAll(): Promise<void> {
    for (const runtimeId of [...this.#open.keys()]) await this.close(runtimeId)
  }

  /**
   * Writes each denial to the build's log once, so that its author sees why a step cannot reach a
   * host.
   */
  #tell({ allowed, type, name, address, port, rule, method, path }: Decision): void {
    if (allowed || type === 'close' || this.#told.size >= maxTold) return
    const request = method === undefined ? '' : ` ${method} ${path ?? ''}`
    const target = `${name ?? address ?? 'an unknown address'}${port === null ? '' : `:${port}`}${request}`
    const text = failures.has(rule) ? `not reached: ${target} (${rule})` : `denied by policy: ${target} (${rule})`
    if (this.#told.has(text)) return
    this.#told.add(text)
    this.#parts.reporter.logOfStep(failures.has(rule) ? 'debug' : 'warn', text.slice(0, 1000))
  }
}
