import type { EngineFacts } from '@holt/engine'

/**
 * The maximum number of concurrent creations, for any number of processors. More would slow running
 * work down.
 */
const most = 8

/**
 * Returns the number of members to create at a time: one for two processors, and one less than the
 * concurrent starts of the engine. A create thus finds a free slot. Nothing else limits the refill
 * rate.
 */
export function makingAtOnce({ cpus, startsAtOnce }: Pick<EngineFacts, 'cpus' | 'startsAtOnce'>): number {
  return Math.max(1, Math.min(most, startsAtOnce - 1, Math.max(2, Math.floor(cpus / 2))))
}
