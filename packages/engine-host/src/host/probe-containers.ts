import { readFile, stat } from 'node:fs/promises'
import { constants } from 'node:os'
import { runTool } from '../tools/run-tool.ts'
import type { Lack } from './lack.ts'

/** The input of a probe. */
export interface ProbeInput {
  /** The guest's binary. Its verb `contain probe` tries the steps (`guest/internal/contain`). */
  readonly guest: string
  readonly stateDir: string
  readonly rootPlace: string
}

/** The step that failed. `errno` is 0 if the failure has no number. */
export interface ProbeFinding {
  readonly step: string
  readonly errno: number
  readonly message: string
}

/** Facts of the host that explain a refusal. */
export interface ProbeSurroundings {
  readonly isChroot: boolean
  /** True if AppArmor restricts user namespaces (Ubuntu 23.10 and later). */
  readonly restrictsUsers: boolean
}

/** The time for a probe, in milliseconds. It takes some 20 ms, or seconds on a host under load. */
const PROBE_TIMEOUT_MS = 10_000

/**
 * Returns the step that this host refuses to a container, or null if it refuses none. The probe
 * makes what a start needs: users with mapped ids, a mount with mapped ids, mounts and devices of
 * its own, and proc in a new process namespace. It explains a trial start that failed
 * (`trials.ts`).
 */
export async function probeContainers({ guest, stateDir, rootPlace }: ProbeInput): Promise<Lack | null> {
  try {
    const { code, stdout } = await runTool([guest, 'contain', 'probe', stateDir, rootPlace], {
      timeoutMs: PROBE_TIMEOUT_MS,
    })
    const finding = code === 0 ? null : findingIn(stdout)
    return finding === null ? null : explainFinding(finding, await readSurroundings())
  } catch {
    return null // The error of the trial start says more than that of a probe that does not run.
  }
}

function findingIn(stdout: string): ProbeFinding | null {
  try {
    return JSON.parse(stdout) as ProbeFinding
  } catch {
    return null // The program ended before it could report.
  }
}

/** Describes a lack: the refused step and the remedy. */
export function explainFinding(
  { step, errno, message }: ProbeFinding,
  { isChroot, restrictsUsers }: ProbeSurroundings,
): Lack {
  const { EACCES, ENOSPC, EPERM } = constants.errno
  const isRefused = errno === EPERM || errno === EACCES
  if (step === 'users' && isRefused && isChroot) {
    const what = 'the service runs in a chroot, where Linux makes no user namespaces (user_namespaces(7))'
    return { reason: `${what}: run it outside, or enter the directory by pivot_root`, fix: null }
  }
  if (step === 'users' && isRefused && restrictsUsers) {
    const fix = 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'
    return { reason: `AppArmor restricts user namespaces (${message})`, fix }
  }
  if (step === 'users' && errno === ENOSPC)
    return { reason: 'the limit of user namespaces is reached', fix: 'sysctl -w user.max_user_namespaces=65536' }
  if (step === 'proc' && isRefused) {
    const what = 'parts of /proc are covered, so that the kernel mounts none for a container'
    const how = 'LXC needs security.nesting=true, Docker --security-opt systempaths=unconfined'
    return { reason: `${what}: ${how}`, fix: null }
  }
  return unexplained(message)
}

function unexplained(message: string): Lack {
  const what = `a trial start of a container fails (${message || 'no reason is known'})`
  return { reason: `${what}: a container or a security profile around the service may forbid it`, fix: null }
}

async function readSurroundings(): Promise<ProbeSurroundings> {
  const setting = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'
  const [own, init, restricts] = await Promise.all([
    stat('/'),
    stat('/proc/1/root').catch(() => null), // Another user's process, or no /proc.
    readFile(setting, 'utf8').catch(() => '0'), // Absent without AppArmor's restriction.
  ])
  const isChroot = init !== null && (init.dev !== own.dev || init.ino !== own.ino)
  return { isChroot, restrictsUsers: restricts.trim() === '1' }
}
