import { type CreateRuntime, HoltError } from '@holt/protocol'
import type { TemplateRow } from '../store/tables.ts'

/** What a runtime gets of the machine. */
export interface Size {
  readonly cpu: number
  readonly memoryMiB: number
  readonly diskMiB: number
}

/** The size of a runtime: what is asked for, else the template's. A disk may only grow. */
export function decideSize(
  { cpu, memory, disk }: Pick<CreateRuntime, 'cpu' | 'memory' | 'disk'>,
  template: TemplateRow,
): Size {
  if (disk !== undefined && disk < template.disk_mib) {
    throw new HoltError('disk_too_small', `The disk has ${disk} MiB; the template needs ${template.disk_mib} MiB.`, {
      details: { required_mib: template.disk_mib },
      hint: `Ask for a disk of ${template.disk_mib} MiB or more, or leave it out.`,
    })
  }
  return { cpu: cpu ?? template.cpu, memoryMiB: memory ?? template.memory_mib, diskMiB: disk ?? template.disk_mib }
}
