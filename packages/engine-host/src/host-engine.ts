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
import { removeParentCgroup } from './cgroups/runtime-cgroup.ts'
import { disksOf } from './disks/used-bytes.ts'
import { closeEgress, egressOf } from './egress/host-egress.ts'
import { ensureRuntime } from './ensure-runtime.ts'
import type { StateClaim } from './host/claim-state-dir.ts'
import { type DescribeInput, describeHost } from './host/describe-host.ts'
import type { Host } from './host/host.ts'
import { removeRuntime } from './remove-runtime.ts'
import { observedOf } from './runtimes/runtime-record.ts'
import { RuntimeWatch } from './runtimes/watch-runtimes.ts'
import { takeCheckpoint } from './take-checkpoint.ts'

/** A host changes slowly, and callers ask for each request. */
const FACTS_MAX_AGE_MS = 5_000

/** The engine of one Linux machine: the contract's verbs, each in a file of its own. */
export class HostEngine implements Engine {
  readonly #host: Host
  readonly #input: DescribeInput
  readonly #claim: StateClaim
  readonly #watch: RuntimeWatch
  readonly #abilities: Abilities
  #facts: { readonly at: number; readonly value: Promise<EngineFacts> } | null = null
  #closed = false

  constructor(host: Host, input: DescribeInput, claim: StateClaim) {
    this.#host = host
    this.#input = input
    this.#claim = claim
    this.#watch = new RuntimeWatch(host)
    this.#abilities = {
      images: host.images,
      checkpoints: checkpointsOf(host),
      egress: egressOf(host),
      disks: disksOf(host),
    }
  }

  describe(): Promise<EngineFacts> {
    const now = performance.now()
    if (this.#facts === null || now - this.#facts.at > FACTS_MAX_AGE_MS) {
      this.#facts = { at: now, value: describeHost(this.#input) }
    }
    return this.#facts.value
  }

  async ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
    this.#refuseClosed()
    const facts = (await this.describe()).isolation[spec.isolation]
    if (!facts.available) throw new EngineError('not_supported', `${spec.isolation}: ${facts.reason}`)
    await ensureRuntime(this.#host, spec, signal)
  }

  observe(signal: AbortSignal): AsyncIterable<Observation> {
    return this.#host.observers.observe(() => this.#host.runtimes.observed(), signal)
  }

  async inspect(id: RuntimeId): Promise<Observed | null> {
    const runtime = this.#host.runtimes.get(id)
    return runtime === undefined ? null : observedOf(runtime.record)
  }

  async dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink> {
    this.#refuseClosed()
    const runtime = this.#host.runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.record.state === 'ended') throw new EngineError('gone', `runtime ${id} has ended`)
    await runtime.door.whenConnected(signal)
    return runtime.door
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
    await this.#watch.close()
    // Verbs that are at work come to their end: what they have begun would go on without its door.
    await Promise.all(this.#host.runtimes.all().map(({ paths }) => this.#host.locks.run(paths.id, async () => {})))
    const reason = new EngineError('unavailable', 'the engine is closed')
    await Promise.all(
      this.#host.runtimes.all().flatMap((runtime) => [runtime.door.close(reason), closeEgress(runtime)]),
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
    usable: (checkpointId) => host.checkpoints.usable(checkpointId),
    list: () => host.checkpoints.list(),
    remove: (checkpointId) => host.checkpoints.remove(checkpointId),
  }
}
