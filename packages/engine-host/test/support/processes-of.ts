import { readdir, readFile } from 'node:fs/promises'

/**
 * The host's processes that are a runtime's, by their cgroups: those inside it that the host sees,
 * and those that keep it.
 */
export async function processesOf(id: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const owned = await Promise.all(
    pids.map(async (pid) => {
      // A process that has ended meanwhile does not count.
      const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
      return groups.includes(id) ? [pid] : []
    }),
  )
  return owned.flat()
}
