import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Check, ok, warn } from './check.ts'

/** The possible leftovers of installations on this machine. */
export interface LeftoverFacts {
  /**
   * The cgroups of installations without a process. Excludes this installation and the running
   * ones.
   */
  readonly emptyCgroups: readonly string[]
  /** Loop devices whose file in this state directory has been deleted. */
  readonly deadLoops: readonly string[]
}

/**
 * Finds the leftovers of installations. `installationId` is this one's, or null before its first
 * start.
 */
export async function readLeftovers({
  stateDir,
  installationId,
  hierarchies,
  sockets = '/proc/net/unix',
}: {
  readonly stateDir: string
  readonly installationId: string | null
  readonly hierarchies: readonly string[]
  /** The list of Unix sockets of this machine. */
  readonly sockets?: string
}): Promise<LeftoverFacts> {
  const kept = new Set([...(await runningInstallations(sockets)), ...(installationId === null ? [] : [installationId])])
  const groups = await Promise.all(hierarchies.map((point) => emptyGroups(point, kept)))
  return { emptyCgroups: groups.flat(), deadLoops: await deadLoops(stateDir) }
}

/**
 * Reports leftovers as warnings. They do no harm, and only their owner knows whether they are in
 * use.
 */
export function checkLeftovers({ emptyCgroups, deadLoops }: LeftoverFacts): readonly Check[] {
  const checks: Check[] = []
  if (emptyCgroups.length > 0) {
    const message = `${emptyCgroups.length} cgroups of stopped installations have no processes. If those installations were removed, delete the cgroups`
    checks.push(warn('leftover cgroups', message, `find ${emptyCgroups.join(' ')} -depth -type d -exec rmdir {} +`))
  }
  if (deadLoops.length > 0)
    checks.push(warn('leftover loops', 'loop devices hold deleted disks', `losetup -d ${deadLoops.join(' ')}`))
  return checks.length > 0 ? checks : [ok('leftovers', 'none')]
}

/**
 * Returns the installations with an open engine. Each has a socket in the abstract namespace with
 * its name (`claimInstallation`), which `/proc/net/unix` lists with an `@`.
 */
async function runningInstallations(sockets: string): Promise<readonly string[]> {
  const text = await readFile(sockets, 'utf8').catch(() => '') // Not Linux.
  return [...text.matchAll(/ @holt-installation-([a-z0-9]{8})$/gm)].map(([, id = '']) => id)
}

async function emptyGroups(point: string, kept: ReadonlySet<string>): Promise<readonly string[]> {
  const names = await readdir(point).catch(() => []) // Unmounted since it was listed.
  const found: string[] = []
  for (const name of names) {
    const id = /^holt-([a-z0-9]{8})$/.exec(name)?.[1]
    if (id !== undefined && !kept.has(id) && (await isEmpty(join(point, name)))) found.push(join(point, name))
  }
  return found
}

/** Returns true if neither a cgroup nor any below it has a process. */
async function isEmpty(group: string): Promise<boolean> {
  const text = await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '') // Removed since it was listed.
  if (text.trim() !== '') return false
  const below = await readdir(group, { withFileTypes: true }).catch(() => [])
  for (const entry of below) if (entry.isDirectory() && !(await isEmpty(join(group, entry.name)))) return false
  return true
}

/**
 * Returns the loop devices with a deleted file. The kernel appends `(deleted)` to the file's name
 * (`/sys/block/loopN/loop/backing_file`).
 */
async function deadLoops(stateDir: string): Promise<readonly string[]> {
  const devices = (await readdir('/sys/block').catch(() => [])).filter((name) => /^loop\d+$/.test(name))
  const found: string[] = []
  for (const name of devices) {
    // The device is free.
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '')
    if (file.startsWith(`${stateDir}/`) && file.trimEnd().endsWith('(deleted)')) found.push(`/dev/${name}`)
  }
  return found
}
