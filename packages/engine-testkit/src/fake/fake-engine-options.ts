import type { EngineFacts, RuntimeId } from '@holt/engine'

/** The behaviour of a fake engine that a test may change. */
export interface FakeEngineOptions {
  readonly facts?: Partial<EngineFacts>
  /** False for a host that cannot grow disks. */
  readonly canGrow?: boolean
  /** The class of the checkpoints that the host makes and restores. Default: `fake`. */
  readonly classId?: string
  /** Called at the beginning of a verb. The verb fails with the error that it throws. */
  readonly before?: BeforeVerb
}

/** Delays or fails a verb. */
export type BeforeVerb = (verb: FakeVerb, id: RuntimeId) => void | Promise<void>

/**
 * The verbs that a test may fail or delay. `take` has the id of the runtime, and `receive` that of
 * the artifact.
 */
export type FakeVerb = 'ensure' | 'dial' | 'remove' | 'take' | 'grow' | 'freeze' | 'thaw' | 'receive'
