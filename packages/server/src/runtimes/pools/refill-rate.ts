import type { EngineFacts } from '@holt/engine'

/** More at once would take the host from what runs, however many processors there are. */
const most = 8

/**
 * How many members are made at a time: half of the processors' worth, and one fewer than the engine
 * starts at once, so that a create which has to be made finds a place. This is the whole cap of the
 * rate at which pools are refilled: nothing waits for a moment to come.
 */
export function makingAtOnce({ cpus, startsAtOnce }: Pick<EngineFacts, 'cpus' | 'startsAtOnce'>): number {
  return Math.max(1, Math.min(most, startsAtOnce - 1, Math.max(2, Math.floor(cpus / 2))))
}
