import {
  type Abilities,
  type Checkpoints,
  type Engine,
  EngineError,
  type EngineFacts,
  type GuestLink,
  type Observation,
  type Observed,
  type RuntimeId,
  type RuntimeSpec,
} from '@holt/engine'
import { freezerOf } from './abilities/freeze-runtime.ts'
import { disksOf } from './abilities/host-disks.ts'
import { egressOf } from './abilities/host-egress.ts'
import { usageOf } from './abilities/host-usage.ts'
import { takeCheckpoint } from './abilities/take-checkpoint.ts'
import { removeParentCgroup } from './cgroups/runtime-cgroup.ts'
import { closeEgress } from './egress/runtime-egress.ts'
import { AgedFacts } from './host/aged-facts.ts'
import { type DescribeInput, describeHost, tryClassAgain } from './host/describe-host.ts'
import type { Host } from './host/host.ts'
import type { Trials } from './host/trials.ts'
import type { Claim } from './installation/claim-installation.ts'
import { ensureRuntime } from './lifecycle/ensure-runtime.ts'
import { removeRuntime } from './lifecycle/remove-runtime.ts'
import { RuntimeWatch } from './lifecycle/watch-runtimes.ts'
import { MemoryGuard } from './memory/memory-guard.ts'
import { observedOf } from './runtimes/runtime-record.ts'
import { HostTransfer } from './transfer/host-transfer.ts'

/** The parts of an engine beside its host. */
export interface HostEngineParts {
  readonly input: DescribeInput
  readonly claim: Claim
  readonly trials: Trials | null
}

/** The engine of one Linux machine: the contract's verbs, each in a file of its own. */
export class HostEngine implements Engine {
  readonly #host: Host
  readonly #input: DescribeInput
  readonly #claim: Claim
  readonly #watch: RuntimeWatch
  readonly #memory: MemoryGuard | null
  readonly #abilities: Partial<Abilities>
  /** Null if this engine makes no runtimes. */
  readonly #trials: Trials | null
  readonly #facts: AgedFacts
  /** The facts without trials, because a start is a trial itself. */
  readonly #parts: AgedFacts
  #closed = false

  constructor(host: Host, { input, claim, trials }: HostEngineParts) {
    this.#host = host
    this.#input = input
    this.#claim = claim
    this.#trials = trials
    const onFailure = (err: unknown) => host.log.warn({ err }, 'the host cannot be described')
    this.#facts = new AgedFacts(() => describeHost(input, trials), onFailure)
    this.#parts = new AgedFacts(() => describeHost(input, null), onFailure)
    this.#watch = new RuntimeWatch(host)
    this.#memory = host.guest === null ? null : new MemoryGuard(host, host.guest.path)
    const freezer = freezerOf(host)
    const usage = usageOf(host)
    this.#abilities = {
      images: host.images,
      checkpoints: checkpointsOf(host),
      egress: egressOf(host),
      disks: disksOf(host),
      transfer: new HostTransfer(host),
      ...(freezer && { freezer }),
      ...(usage && { usage }),
    }
  }

  describe(): Promise<EngineFacts> {
    return this.#facts.get()
  }

  async ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
    this.#refuseClosed()
    const facts = (await this.#parts.get()).isolation[spec.isolation]
    if (!facts.available) throw new EngineError('not_supported', `${spec.isolation}: ${facts.reason}`)
    try {
      await ensureRuntime(this.#host, spec, signal)
    } catch (error) {
      throw (await this.#lackBehind(error, spec, signal)) ?? error
    }
  }

  /**
   * Returns kind `not_supported` if a start failed and a trial of the class fails, too. Every start
   * would then fail, so a retry is of no use. A failed restore proves nothing about the class.
   */
  async #lackBehind(error: unknown, spec: RuntimeSpec, signal: AbortSignal): Promise<EngineError | null> {
    const isStart = error instanceof EngineError && error.kind === 'failed' && spec.restoreOnly !== true
    if (!isStart || this.#trials === null || signal.aborted || this.#closed) return null
    const lack = await tryClassAgain(this.#input, spec.isolation, this.#trials)
    if (lack === null) return null
    this.#facts.forget()
    return new EngineError('not_supported', `${spec.isolation}: ${lack.reason}`, { cause: error })
  }

  observe(signal: AbortSignal): AsyncIterable<Observation> {
    return this.#host.observers.observe(() => this.#host.runtimes.observed(), signal)
  }

  async inspect(id: RuntimeId): Promise<Observed | null> {
    const runtime = this.#host.runtimes.get(id)
    return runtime === undefined ? null : observedOf(runtime)
  }

  async dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink> {
    this.#refuseClosed()
    const runtime = this.#host.runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.record.state === 'ended') throw new EngineError('gone', `runtime ${id} has ended`)
    await runtime.listener.whenConnected(signal)
    return runtime.listener
  }

  async remove(id: RuntimeId, signal: AbortSignal): Promise<void> {
    this.#refuseClosed()
    await removeRuntime(this.#host, id, signal)
  }

  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null {
    return this.#abilities[name] ?? null
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#trials?.close()
    await this.#watch.close()
    this.#memory?.close()
    // Verbs in progress finish first. The processes that they started would continue without a
    // listener.
    await this.#host.locks.settled()
    await this.#host.checkpoints.locks.settled()
    const reason = new EngineError('unavailable', 'the engine is closed')
    await Promise.all(
      this.#host.runtimes.all().flatMap((runtime) => [runtime.listener.close(reason), closeEgress(runtime)]),
    )
    await this.#host.disks.close()
    if (this.#host.runtimes.all().length === 0) await removeParentCgroup(this.#host.cgroups, this.#host.cgroupParent)
    await this.#claim.release()
  }

  #refuseClosed(): void {
    if (this.#closed) throw new EngineError('unavailable', 'the engine is closed')
  }
}

function checkpointsOf(host: Host): Checkpoints {
  return {
    take: (runtime, checkpointId, signal, options) =>
      takeCheckpoint(host, runtime, { checkpointId, ...options }, signal),
    usable: (checkpointId, options) => host.checkpoints.usable(checkpointId, options),
    list: () => host.checkpoints.list(),
    remove: (checkpointId) => host.checkpoints.remove(checkpointId),
  }
}
