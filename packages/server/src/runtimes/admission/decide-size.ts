import { type CreateRuntime, HoltError } from '@holt/protocol'
import type { Refuse } from '../../foundation/errors/refuse.ts'

/** The resources of a runtime. */
export interface Size {
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
}

/** A size, of which a refusal may leave a part open. */
export type SizeOr<Refused extends null> = { readonly [Part in keyof Size]: number | Refused }

/**
 * Returns the size of a runtime: the requested one, or that of its source. A disk may only grow.
 */
export function decideSize<Refused extends null>(
  { cpu, memory, disk }: Pick<CreateRuntime, 'cpu' | 'memory' | 'disk'>,
  source: (Size & { readonly snapshotId: string | null }) | Refused,
  refuse: Refuse<Refused>,
): SizeOr<Refused> {
  if (source === null) return { cpu: cpu ?? source, memoryMiB: memory ?? source, diskMiB: disk ?? source }
  if (disk !== undefined && disk < source.diskMiB) {
    const what = source.snapshotId === null ? 'template' : 'snapshot'
    refuse(
      new HoltError('disk_too_small', `The disk has ${disk} MiB; the ${what} needs ${source.diskMiB} MiB.`, {
        details: { required_mib: source.diskMiB },
        hint: `Request a disk of ${source.diskMiB} MiB or more, or leave disk out.`,
      }),
    )
  }
  return { cpu: cpu ?? source.cpu, memoryMiB: memory ?? source.memoryMiB, diskMiB: disk ?? source.diskMiB }
}
