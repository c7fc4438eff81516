import { type Disks, EngineError, type Freezer, type RuntimeId, type RuntimeUsage, type Usage } from '@holt/engine'
import type { BeforeVerb } from './fake-engine-options.ts'
import type { FakeRuntimes } from './fake-runtimes.ts'

/** The parts of a fake engine that its abilities need. */
interface EngineParts {
  readonly runtimes: FakeRuntimes
  readonly before: BeforeVerb
}

/** Returns the disks of a fake engine. A disk has as many bytes as the files of its guest. */
export function fakeDisks({ runtimes, before }: EngineParts, canGrow: boolean): Disks {
  return {
    canGrow,
    usedBytes: async (id) => runtimes.find(id).guest.files.nodes.sizeBytes,
    grow: async (id, diskMiB, signal) => {
      await before('grow', id)
      signal.throwIfAborted()
      const runtime = runtimes.find(id)
      const { spec } = runtime.observed
      if (diskMiB < spec.diskMiB) throw new EngineError('invalid', `the disk of ${id} has ${spec.diskMiB} MiB`)
      if (diskMiB > spec.diskMiB && !canGrow) throw new EngineError('not_supported', 'no disk grows here')
      runtimes.change(runtime, { spec: { ...spec, diskMiB } })
    },
  }
}

/** Returns the freezer of a fake engine. */
export function fakeFreezer({ runtimes, before }: EngineParts): Freezer {
  const setFrozen = async (id: RuntimeId, frozen: boolean) => {
    await before(frozen ? 'freeze' : 'thaw', id)
    const runtime = runtimes.find(id)
    if (frozen) runtime.guest.freeze()
    else runtime.guest.thaw()
    if (runtime.observed.frozen !== frozen) runtimes.change(runtime, { frozen })
  }
  return { freeze: (id) => setFrozen(id, true), thaw: (id) => setFrozen(id, false) }
}

/** The usage that the host of a fake engine measures. A test may set any of it. */
export class FakeUsage implements Usage {
  readonly #runtimes: FakeRuntimes
  readonly #usages = new Map<RuntimeId, Partial<RuntimeUsage>>()

  constructor(runtimes: FakeRuntimes) {
    this.#runtimes = runtimes
  }

  set(id: RuntimeId, usage: Partial<RuntimeUsage>): void {
    this.#usages.set(id, { ...this.#usages.get(id), ...usage })
  }

  async read(id: RuntimeId): Promise<RuntimeUsage> {
    const { guest, observed } = this.#runtimes.find(id)
    return {
      cpuUsec: 0,
      memoryBytes: 2 ** 20,
      diskBytes: guest.files.nodes.sizeBytes,
      processes: observed.spec.isolation === 'container' ? 1 + guest.processes.size : null,
      ...this.#usages.get(id),
    }
  }
}
