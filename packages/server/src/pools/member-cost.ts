import type { Service } from '../service.ts'
import type { PoolShape } from './pool-shape.ts'

/**
 * What a member takes of memory beside what its checkpoint holds: gVisor's kernel, or the guest of
 * a container, and page tables.
 */
const baseMiB = 40

/** What a member of this shape is reckoned to take of the host's memory, in MiB. */
export async function memberCostMiB({ engine }: Pick<Service, 'engine'>, { checkpointId }: PoolShape): Promise<number> {
  if (checkpointId === null) return baseMiB
  const known = (await engine.ability('checkpoints')?.list()) ?? []
  const sizeBytes = known.find((checkpoint) => checkpoint.checkpointId === checkpointId)?.sizeBytes ?? 0
  return baseMiB + Math.ceil(sizeBytes / 2 ** 20)
}
