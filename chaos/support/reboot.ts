import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { service } from '../../e2e/support/facts.ts'
import { stateDir } from '../../e2e/support/service-process.ts'
import { loseRuntime, unmountBelow } from './lose-runtime.ts'

/** The boot id that stands for another boot. */
const otherBoot = 'another-boot'

/** The offset of the other boot's clock, in milliseconds: a host that has run for an hour less. */
const otherUptimeMs = 3_600_000

/**
 * Leaves the installation as a reboot does: no process, mount or cgroup, nothing in `/run`, and
 * records of another boot. The rest of the machine is unchanged. No daemon may run.
 */
export async function loseAllInReboot(): Promise<void> {
  for (const id of readdirSync(join(stateDir, 'runtimes'))) {
    const dir = join(stateDir, 'runtimes', id)
    await loseRuntime(id, dir)
    const record = join(dir, 'runtime.json')
    const before = JSON.parse(readFileSync(record, 'utf8'))
    writeFileSync(record, `${JSON.stringify({ ...before, bootId: otherBoot })}\n`)
  }
  unmountBelow(stateDir)
  unmountBelow(service.runDir)
  removeCgroups()
  rmSync(service.runDir, { recursive: true })
  forgetClock()
}

/**
 * Returns the boot under which deadlines are recorded. `offset` is the time by which the wall clock
 * is ahead of that boot's clock, in milliseconds.
 */
export function notedClock(): { readonly bootId: string; readonly offset: number } {
  using database = openStore()
  const row = database.prepare('SELECT boot_id, clock_offset FROM hosts').get()
  return { bootId: String(row?.boot_id), offset: Number(row?.clock_offset) }
}

/** Returns the boot id of this machine. */
export function bootOfHost(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function forgetClock(): void {
  const offset = notedClock().offset - otherUptimeMs
  using database = openStore()
  database.prepare('UPDATE hosts SET boot_id = ?, clock_offset = ?').run(otherBoot, offset)
}

function openStore(): DatabaseSync {
  return new DatabaseSync(join(stateDir, 'holt.db'), { timeout: 5000 })
}

/**
 * Removes the cgroup of the installation's runtimes, with its descendants, in each hierarchy. It
 * has no process any more.
 */
function removeCgroups(): void {
  const root = '/sys/fs/cgroup'
  for (const hierarchy of [root, ...readdirSync(root).map((name) => join(root, name))]) {
    const parent = join(hierarchy, `holt-${service.installationId}`)
    if (existsSync(parent)) removeGroup(parent)
  }
}

function removeGroup(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(group, entry.name))
  rmdirSync(group)
}
