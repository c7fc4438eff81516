import { readFile, writeFile } from 'node:fs/promises'
import type { Log } from '../service.ts'

/**
 * Three times the weight of 0, which every session has by itself (`sched_prio_to_weight` of `kernel/sched/core.c`): with some others that are busy the daemon is heard all the same, and takes the machine from
 * none of them.
 */
const niceValue = -5

/**
 * Has the daemon come before other sessions, where the kernel shares processor time out by sessions ("The autogroup feature" of sched(7)): its clients, and whatever else runs on the machine, would each
 * get as much as the one process that all of them wait for. Only where it leads its session, or it would raise what it shares one with. What it starts has sessions of its own, and runtimes have cgroups: neither
 * gains by that.
 */
export async function takePrecedence(log: Log): Promise<void> {
  try {
    if ((await readFile('/proc/sys/kernel/sched_autogroup_enabled', 'utf8')).trim() !== '1')
      return log.debug({}, 'the kernel shares no processor time out by sessions')
    if ((await ownSession()) !== process.pid)
      return log.debug({}, 'the daemon shares its session, and takes no precedence')
    await writeFile('/proc/self/autogroup', `${niceValue}`)
    log.debug({ nice: niceValue }, 'the daemon has taken precedence over other sessions')
  } catch (err) {
    // A kernel without the feature, or a process without CAP_SYS_NICE: it runs all the same, and waits its turn.
    log.debug({ err }, 'the daemon cannot take precedence over other sessions')
  }
}

/** Field 6 of `/proc/self/stat` (proc(5)). The name in brackets before it may hold anything, `)` included. */
async function ownSession(): Promise<number> {
  const stat = await readFile('/proc/self/stat', 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3])
}
