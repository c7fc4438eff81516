import type { ImageDigest } from '@holt/engine'
import type { PoolShape } from '../pools/pool-shape.ts'
import type { RuntimeSource } from './runtime-source.ts'

/**
 * Returns the shape of a runtime of a source. Null if no pool has such: a source with an earlier
 * owner, or another size than the template's.
 */
export function shapeOfSource(
  source: RuntimeSource,
  size: { readonly cpu: number; readonly memoryMiB: number },
): PoolShape | null {
  if (source.snapshotId !== null || source.parentId !== null || source.renew) return null
  if (size.cpu !== source.cpu || size.memoryMiB !== source.memoryMiB) return null
  const { templateId, isolation, checkpointId, startsLike = null, cpu, memoryMiB, diskMiB } = source
  const imageDigest = source.imageDigest as ImageDigest
  return { templateId, isolation, imageDigest, checkpointId, startsLike, cpu, memoryMiB, diskMiB }
}
