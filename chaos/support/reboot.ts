import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { service } from '../../e2e/support/facts.ts'
import { stateDir } from '../../e2e/support/service-process.ts'
import { loseRuntime, unmountBelow } from './lose-runtime.ts'

/** What things are of that are of another boot. */
const otherBoot = 'another-boot'

/**
 * How far the clock of another boot is from that of this one: a host that has run for an hour less.
 */
const otherUptimeMs = 3_600_000

/**
 * Has the installation as a reboot leaves it, and nothing else of the machine: no process, no
 * mount, no cgroup and nothing in `/run`, and what is noted of the boot is of another one. No
 * daemon runs.
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
 * The boot that deadlines are noted under, and by how much the wall clock is ahead of that boot's
 * own, in milliseconds.
 */
export function notedClock(): { readonly bootId: string; readonly offset: number } {
  using database = openStore()
  const row = database.prepare("SELECT value FROM store_facts WHERE name = 'clock'").get()
  const [bootId = '', offset] = String(row?.value).split(' ')
  return { bootId, offset: Number(offset) }
}

/** The boot of this machine. */
export function bootOfHost(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

function forgetClock(): void {
  const value = `${otherBoot} ${notedClock().offset - otherUptimeMs}`
  using database = openStore()
  database.prepare("UPDATE store_facts SET value = ? WHERE name = 'clock'").run(value)
}

function openStore(): DatabaseSync {
  return new DatabaseSync(join(stateDir, 'holt.db'), { timeout: 5000 })
}

/**
 * Removes the cgroup that holds the installation's runtimes, with all below it, in each hierarchy:
 * it has no process any more.
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
