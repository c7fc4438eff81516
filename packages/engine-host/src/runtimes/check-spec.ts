import { EngineError, type RuntimeSpec } from '@holt/engine'
import { hexOf, isRuntimeId } from '../installation/layout.ts'

/** The smallest disk with room for an ext4 and the two directories of the overlay. */
const DISK_MIN_MIB = 16

/** The smallest memory with which gVisor's own kernel and the guest start. */
const MEMORY_MIN_MIB = 32

const FIELDS = ['id', 'isolation', 'imageDigest', 'cpu', 'memoryMiB', 'diskMiB', 'pidsMax', 'checkpointId'] as const

/** Throws kind `invalid` for a spec that no runtime can be made of. */
export function checkSpec(spec: RuntimeSpec): void {
  const wrong = findWrong(spec)
  if (wrong !== null) throw new EngineError('invalid', `runtime ${JSON.stringify(spec.id)}: ${wrong}`)
}

/** Returns true if both specs describe the same runtime. */
export function sameSpec(one: RuntimeSpec, other: RuntimeSpec): boolean {
  return FIELDS.every((field) => one[field] === other[field])
}

function findWrong(spec: RuntimeSpec): string | null {
  if (!isRuntimeId(spec.id)) return 'not a runtime id'
  hexOf(spec.imageDigest)
  if (!(spec.cpu >= 0.001 && Number.isFinite(spec.cpu))) return `cpu ${spec.cpu}`
  if (!(Number.isSafeInteger(spec.memoryMiB) && spec.memoryMiB >= MEMORY_MIN_MIB))
    return `memoryMiB ${spec.memoryMiB} is below ${MEMORY_MIN_MIB}`
  if (!(Number.isSafeInteger(spec.diskMiB) && spec.diskMiB >= DISK_MIN_MIB))
    return `diskMiB ${spec.diskMiB} is below ${DISK_MIN_MIB}`
  if (!(Number.isSafeInteger(spec.pidsMax) && spec.pidsMax >= 1)) return `pidsMax ${spec.pidsMax}`
  return null
}
