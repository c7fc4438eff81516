import { readFileSync } from 'node:fs'

/**
 * Memory that Linux could give away without swapping (`MemAvailable` of proc_meminfo(5)); null
 * where it is not said. Read at once: no disk is behind that file, while the threads that files are
 * else read in may all wait for one, and a create with them.
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
    return '' // Not Linux: not known.
  }
}
