import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultWorkDir, ownerFile, removeScratch, scratchPrefixes } from './make-scratch.ts'
import { isCertainlyGone, parseOwner } from './owner.ts'

/**
 * The time to wait for processes that still use a directory, in milliseconds. At the end of its
 * parent, mmdebstrap gets a signal and then removes a tree of a gigabyte.
 */
const USED_TIMEOUT_MS = 30_000
const POLL_MS = 200

/** The scratch directories that ended processes left. */
export interface Sweep {
  readonly removed: readonly string[]
  /**
   * The directories that could not be removed, with the reasons. A later sweep finds them again.
   */
  readonly kept: readonly { readonly path: string; readonly reason: string }[]
}

/**
 * Removes the scratch directories whose owner is certainly gone. Other directories, and those
 * without an owner file, are not touched.
 */
export async function sweepScratch(
  options: { readonly workDir?: string; readonly usedTimeoutMs?: number } = {},
): Promise<Sweep> {
  const { workDir = defaultWorkDir, usedTimeoutMs = USED_TIMEOUT_MS } = options
  const prefixes = Object.values(scratchPrefixes)
  const names = await readdir(workDir).catch(() => []) // A missing directory has no scratch directories.
  const removed: string[] = []
  const kept: { path: string; reason: string }[] = []
  for (const name of names.filter((each) => prefixes.some((prefix) => each.startsWith(prefix)))) {
    const path = join(workDir, name)
    if (!(await isAbandoned(path))) continue
    try {
      await waitUnused(path, usedTimeoutMs)
      await removeScratch(path)
      removed.push(path)
    } catch (error) {
      kept.push({ path, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  return { removed, kept }
}

/**
 * Returns true if a scratch directory belongs to this user and its process is gone. Any user may
 * write in the parent directory, so only a directory of this user has a trustworthy owner file.
 */
async function isAbandoned(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null) // It was removed in between.
  if (!found?.isDirectory() || found.uid !== process.geteuid?.() || (found.mode & 0o022) !== 0) return false
  const owner = parseOwner(await readFile(join(path, ownerFile), 'utf8').catch(() => ''))
  return owner !== null && (await isCertainlyGone(owner))
}

async function waitUnused(path: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let user = await findUser(path); user !== null; user = await findUser(path)) {
    if (performance.now() > deadline) throw new Error(`process ${user} still works in it`)
    await sleep(POLL_MS)
  }
}

/**
 * Returns a process that has a path below the directory as its root or working directory, in its
 * arguments or in its environment.
 */
async function findUser(path: string): Promise<string | null> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue
    const texts = await Promise.all([
      ...['root', 'cwd'].map((name) => readlink(`/proc/${pid}/${name}`).catch(() => '')), // The process ended in between.
      ...['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '')),
    ])
    if (texts.some((text) => text === path || text.includes(`${path}/`))) return pid
  }
  return null
}
