import { readFile, statfs } from 'node:fs/promises'
import { arch, availableParallelism, release, totalmem } from 'node:os'
import type { EngineFacts, Isolation, IsolationFacts } from '@holt/engine'
import { findMissingLimit } from '../cgroups/check-limits.ts'
import type { CgroupHost } from '../cgroups/detect-cgroups.ts'
import type { GvisorPlatform } from '../installation/options.ts'
import { findProgram } from '../tools/find-program.ts'
import { ROOT_PLACES } from './find-root-place.ts'
import type { Lack } from './lack.ts'
import { probeRunc, probeRunsc, type Runner } from './probe-runners.ts'
import type { Trials } from './trials.ts'

/** This engine's name and version. */
const ENGINE = 'host 0.2.0'

/**
 * The number of starts at once. A start mostly uses a processor. The minimum is three: pools make
 * two at a time, so a create has a slot of its own.
 */
export const startsAtOnce = Math.max(3, availableParallelism())

/** The input of a description. */
export interface DescribeInput {
  readonly stateDir: string
  readonly cgroups: CgroupHost
  readonly runsc: string | null
  readonly runc: string | null
  /** The directory in which a runner of containers finds their roots. */
  readonly rootPlace: string | null
  readonly platform: GvisorPlatform
  /** SHA-256 of the guest. Null if the engine makes no runtimes. */
  readonly guest: string | null
}

/** Returns the reason why no runtime of a class can be booted with a runner, or null if one can. */
type Try = (isolation: Isolation, key: string) => Promise<Lack | null>

/**
 * Describes the host: its available classes, and for each missing one the reason and the remedy.
 * With `trials` a class is available only if a runtime of it has booted here. Without, it is
 * available if its parts exist.
 */
export async function describeHost(input: DescribeInput, trials: Trials | null): Promise<EngineFacts> {
  const common = await findLack(input.cgroups)
  const tried: Try = async (isolation, key) => trials?.lackOf(isolation, key) ?? null
  const [gvisor, container, disk] = await Promise.all([
    common ?? findClass(input, 'gvisor', tried),
    common ?? findClass(input, 'container', tried),
    statfs(input.stateDir),
  ])
  return {
    engine: ENGINE,
    arch: arch(),
    cpus: availableParallelism(),
    startsAtOnce,
    memoryMiB: Math.floor(totalmem() / 2 ** 20),
    diskMiB: Math.floor((disk.blocks * disk.bsize) / 2 ** 20),
    diskFreeMiB: Math.floor((disk.bavail * disk.bsize) / 2 ** 20),
    isolation: { gvisor: factsOf(gvisor, true), container: factsOf(container, false) },
  }
}

/**
 * Tries a class after a start of it has failed. Returns the reason why it is not available any
 * more, or null if it is.
 */
export async function tryClassAgain(input: DescribeInput, isolation: Isolation, trials: Trials): Promise<Lack | null> {
  const common = await findLack(input.cgroups)
  const found = common ?? (await findClass(input, isolation, (...given) => trials.tryAgain(...given)))
  return 'reason' in found ? found : null
}

/** Finds the parts of a class, and tries the class if they all exist. */
async function findClass(input: DescribeInput, isolation: Isolation, tried: Try): Promise<Runner | Lack> {
  const runner = await (isolation === 'gvisor' ? describeGvisor(input.runsc) : describeContainer(input))
  if ('reason' in runner || input.guest === null) return runner
  const lack = await tried(isolation, keyOf(input, isolation, runner))
  return lack === null ? runner : { ...lack, reason: `${runner.name} ${runner.version}: ${lack.reason}` }
}

/**
 * Returns a key of everything that a trial depends on. With another kernel, runner, guest or flags
 * the trial is repeated.
 */
function keyOf({ guest, platform, rootPlace }: DescribeInput, isolation: Isolation, runner: Runner): string {
  const own = isolation === 'gvisor' ? [platform] : [rootPlace]
  return JSON.stringify([ENGINE, release(), `${runner.name} ${runner.version}`, runner.file, guest, ...own])
}

async function describeGvisor(path: string | null): Promise<Runner | Lack> {
  if (path === null) return { reason: 'runsc (gVisor) is not installed', fix: 'bash scripts/lib/setup.sh' }
  return probeRunsc(path)
}

async function describeContainer({ runc: path, rootPlace }: DescribeInput): Promise<Runner | Lack> {
  if (path === null) return { reason: 'neither runc nor crun is installed', fix: 'apt-get install runc' }
  if (rootPlace === null)
    return { reason: `none of ${ROOT_PLACES.join(', ')} is free for the roots of containers`, fix: 'mkdir /mnt' }
  const filesystems = await readFile('/proc/filesystems', 'utf8')
  for (const name of ['overlay', 'erofs']) {
    if (!new RegExp(`\\t${name}$`, 'm').test(filesystems)) {
      return { reason: `the kernel has no ${name} file system`, fix: `modprobe ${name}` }
    }
  }
  const namespacesMax = Number(await readFile('/proc/sys/user/max_user_namespaces', 'utf8').catch(() => '0')) // Absent without them.
  const users = findUserLack({ release: release(), namespacesMax })
  if (users !== null) return users
  const seccomp = await readFile('/proc/sys/kernel/seccomp/actions_avail', 'utf8').catch(() => '') // Absent without seccomp filters.
  if (!seccomp.includes('errno')) return { reason: 'the kernel has no seccomp filters', fix: null }
  for (const tool of ['nsenter', 'ip']) {
    if ((await findProgram(tool)) === null)
      return { reason: `${tool} is not installed`, fix: 'apt-get install util-linux iproute2' }
  }
  return probeRunc(path)
}

/**
 * Returns the reason why this kernel cannot give a container its own users, or null. Overlays
 * accept layers with mapped ids since Linux 5.19.
 */
export function findUserLack({ release, namespacesMax }: { release: string; namespacesMax: number }): Lack | null {
  const [major = 0, minor = 0] = release.split(/[.-]/).map(Number)
  if (major < 5 || (major === 5 && minor < 19))
    return {
      reason: `Linux ${release} cannot map the users of a container: 5.19 or later is needed`,
      fix: 'apt-get install linux-image-amd64',
    }
  if (namespacesMax > 0) return null
  return { reason: 'the kernel does not allow user namespaces', fix: 'sysctl -w user.max_user_namespaces=65536' }
}

/** Returns the first thing that this host lacks for every class, or null: root, limits, disks. */
async function findLack(cgroups: CgroupHost): Promise<Lack | null> {
  if (process.platform !== 'linux') return { reason: 'this is not Linux', fix: null }
  if (process.geteuid?.() !== 0) return { reason: 'the engine does not run as root', fix: 'sudo -i' }
  const limit = await findMissingLimit(cgroups)
  if (limit !== null) return limit
  const tools = { 'mkfs.ext4': 'e2fsprogs', losetup: 'mount', mount: 'mount', umount: 'mount' }
  for (const [tool, where] of Object.entries(tools)) {
    if ((await findProgram(tool)) === null)
      return { reason: `${tool} is not installed`, fix: `apt-get install ${where}` }
  }
  const loop = await statfs('/dev/loop-control').catch(() => null) // Absent without the module.
  return loop === null ? { reason: 'there are no loop devices', fix: 'modprobe loop' } : null
}

function factsOf(found: Runner | Lack, canCheckpoint: boolean): IsolationFacts {
  if ('reason' in found) return { available: false, ...found }
  return { available: true, runner: `${found.name} ${found.version}`, canCheckpoint }
}
