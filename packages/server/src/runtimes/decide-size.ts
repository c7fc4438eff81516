import { type CreateRuntime, HoltError } from '@holt/protocol'

/** What a runtime gets of the machine. */
export interface Size {
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
}

/** The size of a runtime: what is asked for, else its source's. A disk may only grow. */
export function decideSize(
  { cpu, memory, disk }: Pick<CreateRuntime, 'cpu' | 'memory' | 'disk'>,
  source: Size & { readonly snapshotId: string | null },
): Size {
  if (disk !== undefined && disk < source.diskMiB) {
    const what = source.snapshotId === null ? 'template' : 'snapshot'
    throw new HoltError('disk_too_small', `The disk has ${disk} MiB; the ${what} needs ${source.diskMiB} MiB.`, {
      details: { required_mib: source.diskMiB },
      hint: `Ask for a disk of ${source.diskMiB} MiB or more, or leave it out.`,
    })
  }
  return { cpu: cpu ?? source.cpu, memoryMiB: memory ?? source.memoryMiB, diskMiB: disk ?? source.diskMiB }
}
