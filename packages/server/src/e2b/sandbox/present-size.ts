import type { RuntimeRow } from '../../foundation/store/tables.ts'

/** A size as clients of E2B read it: whole processors, and MiB of memory and disk. */
interface PresentedSize {
  readonly cpuCount: number
  readonly memoryMB: number
  readonly diskSizeMB: number
}

/** Returns the size of a runtime or a template for clients. Parts of a processor count as one. */
export function presentSize({
  cpu,
  memory_mib,
  disk_mib,
}: Pick<RuntimeRow, 'cpu' | 'memory_mib' | 'disk_mib'>): PresentedSize {
  return { cpuCount: Math.ceil(cpu), memoryMB: memory_mib, diskSizeMB: disk_mib }
}
