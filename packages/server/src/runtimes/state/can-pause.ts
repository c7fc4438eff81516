import type { EngineFacts, Isolation } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { networkFacts } from '../../resources/network/find-network.ts'
import type { Runtimes } from '../runtimes.ts'

/** Returns true if this host can take checkpoints of runtimes of a class. */
export function hasCheckpoints(facts: EngineFacts, isolation: Isolation): boolean {
  const fact = facts.isolation[isolation]
  return fact.available && fact.canCheckpoint
}

/**
 * Throws if a runtime cannot have a memory checkpoint: the host does not support it, or the memory
 * holds the value of a secret, which must not be stored.
 */
export async function requireCheckpoints({ engine, store }: Runtimes, row: RuntimeRow): Promise<void> {
  if (!hasCheckpoints(await engine.describe(), row.isolation))
    throw new HoltError(
      'not_supported_here',
      `A runtime of the class ${row.isolation} has no memory checkpoints here.`,
      {
        hint: 'Use the class gvisor for memory checkpoints. A filesystem snapshot works in every class.',
        details: { isolation: row.isolation },
      },
    )
  const { secretsInside } = (await networkFacts(store.db, row.project_id, [row.runtime_id]))(row.runtime_id)
  if (secretsInside)
    throw new HoltError('conflict', 'The runtime has the value of a secret inside, so its memory cannot be saved.', {
      hint: 'Use secrets without `env: true`: the gateway inserts them, and the runtime never has the value.',
    })
}

/** Returns true if a runtime can be paused, as its settings want it: some keep the files alone. */
export async function canPause(service: Runtimes, row: RuntimeRow): Promise<boolean> {
  if (row.pause_kind === 'filesystem') return true
  try {
    await requireCheckpoints(service, row)
    return true
  } catch (error) {
    if (error instanceof HoltError && error.status < 503) return false
    throw error
  }
}
