import type { Runtimes } from '../runtimes.ts'
import type { PoolShape } from './pool-shape.ts'

/**
 * The memory of a member beside that of its application, in MiB: gVisor's kernel, or the guest of a
 * container, and page tables.
 */
const baseMiB = 40

/** Returns the estimated host memory of a member of this shape, in MiB. */
export async function memberCostMiB(
  { engine }: Pick<Runtimes, 'engine'>,
  { checkpointId, startsLike }: PoolShape,
): Promise<number> {
  const model = checkpointId ?? startsLike
  if (model === null) return baseMiB
  const known = (await engine.ability('checkpoints')?.list()) ?? []
  const sizeBytes = known.find((checkpoint) => checkpoint.checkpointId === model)?.sizeBytes ?? 0
  return baseMiB + Math.ceil(sizeBytes / 2 ** 20)
}
