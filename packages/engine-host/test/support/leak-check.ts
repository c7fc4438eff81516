import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { detectCgroups } from '../../src/cgroups/detect-cgroups.ts'
import { readMounts } from '../../src/mounts/mount-table.ts'
import { findByArgument } from '../../src/tools/process-table.ts'

/** The directories and names of the objects that one engine must not leave behind. */
export interface LeakScope {
  readonly stateDir: string
  readonly runDir: string
  readonly cgroupParent: string
}

/**
 * A loop device is let go by the kernel a moment after its last user: how long that moment may be.
 */
const SETTLE_MS = 5_000

/**
 * Everything of an engine's runtimes that the host still holds: processes, mounts, loop devices,
 * cgroups, sockets, files, temporaries. Empty when nothing leaks. Images, checkpoints at rest and
 * spare disks are no leaks.
 */
export async function findLeaks(scope: LeakScope): Promise<string[]> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const leaks = await lookForLeaks(scope)
    if (leaks.length === 0 || performance.now() > deadline) return leaks
    await sleep(20)
  }
}

async function lookForLeaks({ stateDir, runDir, cgroupParent }: LeakScope): Promise<string[]> {
  const ours = (text: string) => text.startsWith(`${stateDir}/`) || text.startsWith(`${runDir}/`)
  const processes = await findByArgument(
    (argument) => argument.includes(`${stateDir}/`) || argument.includes(`${runDir}/`),
  )
  const mounts = (await readMounts()).map((mount) => mount.point).filter(ours)
  const sockets = (await readFile('/proc/net/unix', 'utf8')).split('\n').map((line) => line.split(' ').at(-1) ?? '')
  return [
    ...processes.map(({ pid }) => `process ${pid}`),
    ...mounts.map((point) => `mount ${point}`),
    ...(await loopFiles()).filter(ours).map((file) => `loop device of ${file}`),
    ...(await childCgroups(cgroupParent)).map((dir) => `cgroup ${dir}`),
    ...sockets.filter(ours).map((path) => `socket ${path}`),
    ...(await claimedIds(ours)),
    ...(await filesIn(join(stateDir, 'runtimes'))),
    ...(await filesIn(runDir, (name) => !['.runner', '.owner'].includes(name))),
    ...(await filesIn(join(runDir, '.runner'))),
    ...(await filesIn(join(stateDir, 'images'), (name) => name.startsWith('.tmp-'))),
    ...(await filesIn(join(stateDir, 'checkpoints'), (name) => name.startsWith('.tmp-'))),
  ]
}

/** Returns the ranges of user ids that are claimed for runtimes of ours. */
async function claimedIds(ours: (record: string) => boolean): Promise<string[]> {
  const names = await readdir('/run/holt-ids').catch(() => []) // Nobody has claimed any.
  const records = await Promise.all(names.map((name) => readlink(`/run/holt-ids/${name}`).catch(() => '')))
  return names.filter((_, index) => ours(records[index] ?? '')).map((name) => `ids from ${name}`)
}

async function loopFiles(): Promise<string[]> {
  const files: string[] = []
  for (const name of await readdir('/sys/block')) {
    if (!name.startsWith('loop')) continue
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '') // Not attached.
    files.push(file.trim())
  }
  return files
}

async function childCgroups(parent: string): Promise<string[]> {
  const { hierarchies } = await detectCgroups()
  const found: string[] = []
  for (const point of hierarchies) {
    const entries = await readdir(join(point, parent), { withFileTypes: true }).catch(() => []) // No parent, no children.
    for (const entry of entries) if (entry.isDirectory()) found.push(join(point, parent, entry.name))
  }
  return found
}

async function filesIn(dir: string, matches: (name: string) => boolean = () => true): Promise<string[]> {
  const names = await readdir(dir).catch(() => []) // Absent is empty.
  return names.filter(matches).map((name) => `file ${join(dir, name)}`)
}

/** Open descriptors of this process. */
export async function countDescriptors(): Promise<Map<string, number>> {
  const kinds = new Map<string, number>()
  for (const name of await readdir('/proc/self/fd')) {
    const target = await readlink(`/proc/self/fd/${name}`).catch(() => '') // The directory's own.
    const kind = target.replace(/:?\[\d+\]$/, '')
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  return kinds
}
