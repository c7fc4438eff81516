import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Check, ok, warn } from './check.ts'

/** What of this machine may be left of installations. */
export interface LeftoverFacts {
  /** Cgroups of installations in which there is no process, those of this one left out. */
  readonly emptyCgroups: readonly string[]
  /** Loop devices whose file in this state directory has been deleted. */
  readonly deadLoops: readonly string[]
}

/** Looks for what installations have left. `installationId` is this one's; null before its first start. */
export async function readLeftovers({
  stateDir,
  installationId,
  hierarchies,
}: {
  readonly stateDir: string
  readonly installationId: string | null
  readonly hierarchies: readonly string[]
}): Promise<LeftoverFacts> {
  const groups = await Promise.all(hierarchies.map((point) => emptyGroups(point, installationId)))
  return { emptyCgroups: groups.flat(), deadLoops: await deadLoops(stateDir) }
}

/** What is left is no harm, and nobody but its owner knows whether it is: it is only told. */
export function checkLeftovers({ emptyCgroups, deadLoops }: LeftoverFacts): readonly Check[] {
  const checks: Check[] = []
  if (emptyCgroups.length > 0) {
    const message = `${emptyCgroups.length} cgroups of other installations have no processes; if those are gone`
    checks.push(warn('leftover cgroups', message, `find ${emptyCgroups.join(' ')} -depth -type d -exec rmdir {} +`))
  }
  if (deadLoops.length > 0)
    checks.push(warn('leftover loops', 'loop devices hold deleted disks', `losetup -d ${deadLoops.join(' ')}`))
  return checks.length > 0 ? checks : [ok('leftovers', 'none')]
}

async function emptyGroups(point: string, installationId: string | null): Promise<readonly string[]> {
  const names = await readdir(point).catch(() => []) // Unmounted since it was listed.
  const foreign = names.filter((name) => /^holt-[a-z0-9]{8}$/.test(name) && name !== `holt-${installationId}`)
  const found: string[] = []
  for (const name of foreign) if (await isEmpty(join(point, name))) found.push(join(point, name))
  return found
}

async function isEmpty(group: string): Promise<boolean> {
  const below = await readdir(group, { withFileTypes: true }).catch(() => []) // Removed since it was listed.
  const groups = [group, ...below.filter((entry) => entry.isDirectory()).map(({ name }) => join(group, name))]
  const texts = await Promise.all(groups.map((each) => readFile(join(each, 'cgroup.procs'), 'utf8').catch(() => '')))
  return texts.every((text) => text.trim() === '')
}

/** The kernel says `(deleted)` behind the name of a file that is gone (`/sys/block/loopN/loop/backing_file`). */
async function deadLoops(stateDir: string): Promise<readonly string[]> {
  const devices = (await readdir('/sys/block').catch(() => [])).filter((name) => /^loop\d+$/.test(name))
  const found: string[] = []
  for (const name of devices) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '') // It is free.
    if (file.startsWith(`${stateDir}/`) && file.trimEnd().endsWith('(deleted)')) found.push(`/dev/${name}`)
  }
  return found
}
