import { readFile } from 'node:fs/promises'

/** Memory that Linux could give away without swapping (`MemAvailable` of proc_meminfo(5)); null where it is not said. */
export async function freeMemoryMiB(): Promise<number | null> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '') // Not Linux: not known.
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1]
  return kib === undefined ? null : Math.floor(Number(kib) / 1024)
}
