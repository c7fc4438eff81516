import { type Check, mustFix, ok, warn } from './check.ts'
import type { CgroupFacts, LimitFacts, MachineFacts, TimeFacts } from './facts.ts'

/** The first kernel with EROFS outside of staging, and the oldest one that is tested. */
const kernels = { oldest: [5, 4], tried: [5, 15] } as const

/** The memory in which the base template builds and runs. */
const leastMemoryMiB = 2048

/** The earliest plausible time: this check did not exist before it. */
const earliestTime = Date.parse('2026-01-01T00:00:00Z')

/** The difference of the clocks above which the time was changed, in milliseconds. */
const apartMs = 60_000

/** Runs all checks of the kernel's facts. */
export function checkKernel(facts: MachineFacts): readonly Check[] {
  return [
    checkArch(facts.arch),
    checkRelease(facts.kernelRelease),
    checkMemory(facts.memoryMiB),
    ...checkFeatures(facts),
    ...checkCgroups(facts.cgroups),
    ...checkLimits(facts.limits),
    checkCores(facts.corePattern),
    checkClock(facts.time),
  ]
}

/** Checks that there is a runner for this processor. */
export function checkArch(arch: string): Check {
  if (arch === 'x64' || arch === 'arm64') return ok('architecture', arch)
  return mustFix('architecture', `there is no runsc for ${arch}: use an x86-64 or arm64 machine`, null)
}

/** Checks that the kernel is new enough. */
export function checkRelease(release: string): Check {
  const [major = 0, minor = 0] = release.split(/[.-]/).map(Number)
  const isBefore = ([wantedMajor, wantedMinor]: readonly [number, number]) =>
    major < wantedMajor || (major === wantedMajor && minor < wantedMinor)
  if (isBefore(kernels.oldest))
    return mustFix(
      'kernel',
      `${release} is older than ${kernels.oldest.join('.')}`,
      'apt-get install linux-image-amd64',
    )
  if (isBefore(kernels.tried)) return warn('kernel', `${release}; ${kernels.tried.join('.')} and later are tried`)
  return ok('kernel', release)
}

function checkMemory(memoryMiB: number): Check {
  if (memoryMiB >= leastMemoryMiB) return ok('memory', `${memoryMiB} MiB`)
  return mustFix('memory', `${memoryMiB} MiB; ${leastMemoryMiB} MiB are needed: use a larger machine`, null)
}

/**
 * Checks the features of the kernel. A feature that every isolation class needs is required.
 * Without a feature that one class needs, that class is not available.
 */
export function checkFeatures(
  facts: Pick<MachineFacts, 'filesystems' | 'hasLoopDevices' | 'hasTun' | 'seccompActions'>,
) {
  const { filesystems, hasLoopDevices, hasTun, seccompActions } = facts
  const filesystem = (name: string, lack: (fix: string) => Check) =>
    filesystems.has(name) ? ok(name, 'the kernel has it') : lack(`modprobe ${name}`)
  return [
    filesystem('ext4', (fix) => mustFix('ext4', 'the kernel cannot mount the disks of runtimes', fix)),
    filesystem('erofs', (fix) => warn('erofs', 'the class container cannot mount its images', fix)),
    filesystem('overlay', (fix) => warn('overlay', 'the class container cannot mount a disk over an image', fix)),
    hasLoopDevices
      ? ok('loop', 'there are loop devices')
      : mustFix('loop', 'there are no loop devices; a container needs them passed in', 'modprobe loop'),
    hasTun
      ? ok('tun', 'there is /dev/net/tun')
      : warn('tun', 'runtimes of the class container have no network', 'modprobe tun'),
    seccompActions.includes('errno')
      ? ok('seccomp', 'the kernel has filters')
      : warn('seccomp', 'the kernel has no seccomp filters: the class container is not available'),
  ]
}

/**
 * Checks the cgroup controllers. Without limits a runtime can use up the machine. Without the other
 * controllers it cannot be frozen or accounted for.
 */
export function checkCgroups({ controllers, readOnly, undelegated }: CgroupFacts): readonly Check[] {
  const checks: Check[] = []
  for (const name of ['cpu', 'memory', 'pids']) {
    if (controllers.has(name)) continue
    const line = `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX cgroup_enable=${name}"`
    const fix = `mkdir -p /etc/default/grub.d && echo '${line}' > /etc/default/grub.d/cgroup-${name}.cfg && update-grub && reboot`
    checks.push(mustFix(`cgroup ${name}`, 'runtimes could not be limited', fix))
  }
  if (!controllers.has('freezer')) checks.push(warn('cgroup freezer', 'idle runtimes cannot be frozen'))
  if (!controllers.has('cpuacct')) checks.push(warn('cgroup cpuacct', 'the usage of runtimes cannot be measured'))
  for (const point of readOnly)
    checks.push(mustFix('cgroup mount', `${point} cannot be written`, `mount -o remount,rw ${point}`))
  const wanted = undelegated.filter((name) => name !== 'cpuacct' && name !== 'freezer')
  if (wanted.length > 0) {
    const point = controllers.get(wanted[0] ?? '')
    const fix = `echo '${wanted.map((name) => `+${name}`).join(' ')}' > ${point}/cgroup.subtree_control`
    checks.push(warn('cgroup delegation', `groups do not have ${wanted.join(', ')} yet`, fix))
  }
  return checks.length > 0 ? checks : [ok('cgroups', [...controllers.keys()].sort().join(', '))]
}

/** A limit of the shell does not apply to a service of systemd. */
const moreFiles = 'ulimit -Hn 65536    # where a systemd unit runs the service: LimitNOFILE=65536 in it'

/** Checks the limits of the service and all runtimes together. */
export function checkLimits({ openFiles, threads, mapsPerProcess, inotifyInstances }: LimitFacts): readonly Check[] {
  return [
    openFiles >= 65_536
      ? ok('open files', said(openFiles))
      : openFiles >= 4096
        ? warn('open files', `${openFiles}; 65536 are better`, moreFiles)
        : mustFix('open files', `${openFiles}; 4096 are needed`, moreFiles),
    atLeast('threads', { value: threads, wanted: 32_768, setting: 'kernel.pid_max' }),
    atLeast('memory maps', { value: mapsPerProcess, wanted: 65_530, setting: 'vm.max_map_count' }),
    atLeast('inotify', { value: inotifyInstances, wanted: 128, setting: 'fs.inotify.max_user_instances' }),
  ]
}

/**
 * Checks that no core dump of the service or its children reaches a file, because their memory
 * holds secrets. A program to which the kernel pipes a dump ignores the limit (core(5)).
 */
export function checkCores(corePattern: string): Check {
  if (!corePattern.startsWith('|')) return ok('core dumps', 'core dumps are off by the limit of the service')
  const program = corePattern.slice(1).trim().split(' ', 1)[0]
  return warn(
    'core dumps',
    `${program} receives the memory of crashed programs, including secrets: the kernel applies no limit to a pipe`,
    'sysctl -w kernel.core_pattern=core',
  )
}

function atLeast(
  name: string,
  { value, wanted, setting }: { readonly value: number; readonly wanted: number; readonly setting: string },
): Check {
  if (value >= wanted) return ok(name, said(value))
  return warn(name, `${value}; ${wanted} are better`, `sysctl -w ${setting}=${wanted}`)
}

function said(value: number): string {
  return Number.isFinite(value) ? String(value) : 'no limit'
}

/**
 * Checks that the time is plausible, and that the clock was not changed much since the machine
 * started.
 */
export function checkClock({ now, bootedAt, countedBootAt }: TimeFacts): Check {
  const text = new Date(now).toISOString()
  const fix = 'timedatectl set-ntp true'
  if (now <= earliestTime) return mustFix('clock', `${text} is in the past`, fix)
  if (bootedAt > now + apartMs) return mustFix('clock', `${text} is before the start of the machine`, fix)
  const apart = Math.abs(countedBootAt - bootedAt)
  if (apart > apartMs) return warn('clock', `${text}; it was set by ${Math.round(apart / 1000)} s since the start`, fix)
  return ok('clock', text)
}
