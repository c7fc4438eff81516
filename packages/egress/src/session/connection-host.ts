import type { AttachedSecret, Decision, EffectivePolicy, RuntimeCa } from '../contract/gateway-contract.ts'
import type { Terminator } from '../contract/terminator.ts'
import type { Target } from '../policy/decide.ts'
import type { Upstream } from '../upstream/find-upstream.ts'

/** The parts of its runtime that a connection needs. */
export interface ConnectionHost {
  readonly policy: EffectivePolicy
  readonly secrets: readonly AttachedSecret[]
  readonly ca: RuntimeCa
  readonly terminator: Terminator
  findUpstream(target: Target): Promise<Upstream>
  /** Returns false while nothing may leave the runtime. Absent: always true. */
  readonly mayLeave: (() => boolean) | undefined
  /** Resolves when the next request may be read. */
  pace(): Promise<void>
  log(decision: Omit<Decision, 'at'>): void
  /** Reports an internal error. */
  onFault(error: unknown): void
}
