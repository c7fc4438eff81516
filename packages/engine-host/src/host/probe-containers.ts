import { readFile, stat } from 'node:fs/promises'
import { constants } from 'node:os'
import { runTool } from '../tools/run-tool.ts'

/** What this host lacks for containers. `fix` is a command; null: the reason says what to do. */
export interface ContainerLack {
  readonly reason: string
  readonly fix: string | null
}

/** The input of a probe. */
export interface ProbeInput {
  /** The guest's binary, whose verb `contain probe` tries the steps (`guest/internal/contain`). */
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

/** A probe takes some 20 ms. On a host under load it may take seconds. */
const PROBE_TIMEOUT_MS = 10_000

/** A lack is probed again after this time, because the operator may have corrected it. */
const LACK_AGE_MS = 10_000

const known = new Map<string, { readonly at: number; readonly lack: Promise<ContainerLack | null> }>()

/**
 * Returns why this host cannot start containers; null if it can. Does what a start needs: users
 * with mapped ids, a mount with mapped ids, mounts and devices of its own, and proc in a new
 * process namespace. A success counts for the life of this process.
 */
export async function probeContainers(input: ProbeInput): Promise<ContainerLack | null> {
  const key = JSON.stringify(input)
  const before = known.get(key)
  if (before !== undefined) {
    const lack = await before.lack
    if (lack === null || performance.now() - before.at <= LACK_AGE_MS) return lack
  }
  const lack = tryOnce(input)
  known.set(key, { at: performance.now(), lack })
  return lack
}

async function tryOnce({ guest, stateDir, rootPlace }: ProbeInput): Promise<ContainerLack | null> {
  try {
    const { code, stdout, stderr } = await runTool([guest, 'contain', 'probe', stateDir, rootPlace], {
      timeoutMs: PROBE_TIMEOUT_MS,
    })
    if (code === 0) return null
    const finding = findingIn(stdout)
    if (finding !== null) return explainFinding(finding, await readSurroundings())
    return unexplained(stderr.trim())
  } catch (error) {
    return unexplained(error instanceof Error ? error.message : String(error))
  }
}

function findingIn(stdout: string): ProbeFinding | null {
  try {
    return JSON.parse(stdout) as ProbeFinding
  } catch {
    return null // The program ended before it could tell.
  }
}

/** Returns a lack in words: what is refused, and what to do. */
export function explainFinding(
  { step, errno, message }: ProbeFinding,
  { isChroot, restrictsUsers }: ProbeSurroundings,
): ContainerLack {
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

function unexplained(message: string): ContainerLack {
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
