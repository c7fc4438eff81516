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
import { disksOf } from './disks/host-disks.ts'
import { closeEgress, egressOf } from './egress/host-egress.ts'
import { ensureRuntime } from './ensure-runtime.ts'
import { freezerOf } from './freeze-runtime.ts'
import type { Claim } from './host/claim-installation.ts'
import { type DescribeInput, describeHost } from './host/describe-host.ts'
import type { Host } from './host/host.ts'
import { MemoryGuard } from './memory/memory-guard.ts'
import { removeRuntime } from './remove-runtime.ts'
import { usageOf } from './runtimes/host-usage.ts'
import { observedOf } from './runtimes/runtime-record.ts'
import { RuntimeWatch } from './runtimes/watch-runtimes.ts'
import { takeCheckpoint } from './take-checkpoint.ts'

/** A host changes slowly, and callers ask for each request: what is older than this is looked at anew, and nobody waits for that. */
const FACTS_AGE_MS = 2_000

/** What is older than this is not answered any more. */
const FACTS_MAX_AGE_MS = 10_000

/** The engine of one Linux machine: the contract's verbs, each in a file of its own. */
export class HostEngine implements Engine {
  readonly #host: Host
  readonly #input: DescribeInput
  readonly #claim: Claim
  readonly #watch: RuntimeWatch
  readonly #memory: MemoryGuard | null
  readonly #abilities: Partial<Abilities>
  #refreshing = false
  #facts: { readonly at: number; readonly value: Promise<EngineFacts> } | null = null
  #closed = false

  constructor(host: Host, input: DescribeInput, claim: Claim) {
    this.#host = host
    this.#input = input
    this.#claim = claim
    this.#watch = new RuntimeWatch(host)
    this.#memory = host.guest === null ? null : new MemoryGuard(host, host.guest.path)
    const freezer = freezerOf(host)
    const usage = usageOf(host)
    this.#abilities = {
      images: host.images,
      checkpoints: checkpointsOf(host),
      egress: egressOf(host),
      disks: disksOf(host),
      ...(freezer && { freezer }),
      ...(usage && { usage }),
    }
  }

  describe(): Promise<EngineFacts> {
    const age = this.#facts === null ? Number.POSITIVE_INFINITY : performance.now() - this.#facts.at
    if (this.#facts !== null && age <= FACTS_MAX_AGE_MS) {
      if (age > FACTS_AGE_MS && !this.#refreshing) void this.#refresh()
      return this.#facts.value
    }
    const facts = { at: performance.now(), value: describeHost(this.#input) }
    facts.value.catch(() => {
      // Whoever asked sees why; the next who asks has it looked at again.
      if (this.#facts === facts) this.#facts = null
    })
    this.#facts = facts
    return facts.value
  }

  /** Looks at the host beside whoever asks, who is answered what was seen last. */
  async #refresh(): Promise<void> {
    const at = performance.now()
    this.#refreshing = true
    try {
      this.#facts = { at, value: Promise.resolve(await describeHost(this.#input)) }
    } catch (err) {
      // What was seen last holds until it is too old; then whoever asks is told.
      this.#host.log.warn({ err }, 'the host cannot be described')
    } finally {
      this.#refreshing = false
    }
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
    return runtime === undefined ? null : observedOf(runtime)
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
    this.#memory?.close()
    // Verbs that are at work come to their end: what they have begun would go on without its door.
    await this.#host.locks.settled()
    await this.#host.checkpoints.locks.settled()
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
    usable: (checkpointId, options) => host.checkpoints.usable(checkpointId, options),
    list: () => host.checkpoints.list(),
    remove: (checkpointId) => host.checkpoints.remove(checkpointId),
  }
}
