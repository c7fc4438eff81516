import { readFileSync } from 'node:fs'

/**
 * Returns the memory that Linux can give without swapping (`MemAvailable` of proc_meminfo(5)), or
 * null if unknown. Reads synchronously, because no disk is behind that file. The threads for other
 * reads may all wait for a disk, and a create would wait with them.
 */
export async function freeMemoryMiB(): Promise<number | null> {
  const text = readMemoryFacts()
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1]
  return kib === undefined ? null : Math.floor(Number(kib) / 1024)
}

function readMemoryFacts(): string {
  try {
    return readFileSync('/proc/meminfo', 'utf8')
  } catch {
    return '' // Not Linux: unknown.
  }
}
