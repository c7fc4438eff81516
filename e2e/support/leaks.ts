import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ownLane } from './lane.ts'
import { findService } from './service-process.ts'

/** The names that identify the kernel objects and files of an installation. */
export interface Installation {
  readonly stateDir: string
  readonly runDir: string
  readonly installationId: string
}

/**
 * Everything that belongs to the installation at one moment, a line each, so that a difference
 * reads as what it is.
 */
export type Belongings = readonly string[]

/**
 * Lists processes, mounts, loop devices, cgroups, sockets, files and the daemon's descriptors that
 * belong to the installation, and to no other.
 */
export function listBelongings(installation: Installation, lane = ownLane): Belongings {
  const daemon = findService(lane)
  return [
    ...processes(installation, daemon),
    ...mounts(installation),
    ...loopDevices(installation),
    ...cgroups(installation),
    ...entries(installation.runDir, 'run'),
    ...files(installation.stateDir),
    ...entries(lane.temporaryDir, 'temporary').filter((line) => line !== 'temporary node-compile-cache'), // Node's own, kept on purpose.
    ...descriptors(daemon),
  ].sort()
}

/** Returns the lines that were added. Equal lines count. */
export function addedTo(before: Belongings, after: Belongings): Belongings {
  const left = [...before]
  return after.filter((line) => {
    const index = left.indexOf(line)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

/**
 * Processes of runtimes and of tools that work for them: by cgroup and by command line. The daemon
 * itself is none of them.
 */
function processes({ stateDir, runDir, installationId }: Installation, daemon: number | null): string[] {
  return numbers('/proc').flatMap((pid) => {
    if (pid === daemon || pid === process.pid) return []
    const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
    const mine =
      read(`/proc/${pid}/cgroup`).includes(installationId) ||
      command.includes(`${stateDir}/`) ||
      command.includes(`${runDir}/`)
    return mine ? [`process ${pid} ${command.slice(0, 120)}`] : []
  })
}

/**
 * Mounts below the installation's directories. Images stay mounted, one mount each, for the next
 * runtime of their template.
 */
function mounts({ stateDir, runDir }: Installation): string[] {
  return read('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter(
      (point) =>
        (point.startsWith(`${stateDir}/`) && !point.startsWith(`${stateDir}/images/`)) ||
        point.startsWith(`${runDir}/`),
    )
    .map((point) => `mount ${point}`)
}

function loopDevices({ stateDir }: Installation): string[] {
  return list('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .map((name) => ({ name, file: read(`/sys/block/${name}/loop/backing_file`).trim() }))
    .filter(({ file }) => file.startsWith(`${stateDir}/`) && !file.startsWith(`${stateDir}/images/`))
    .map(({ name, file }) => `loop device ${name} of ${file}`)
}

/** Groups in every hierarchy, version 1 and 2, whose path names the installation. */
function cgroups({ installationId }: Installation): string[] {
  const roots = ['/sys/fs/cgroup', ...list('/sys/fs/cgroup').map((name) => `/sys/fs/cgroup/${name}`)]
  return roots
    .flatMap((root) =>
      list(root)
        .filter((name) => name.includes(installationId))
        .map((name) => `${root}/${name}`),
    )
    .flatMap((parent) => list(parent).map((name) => `${parent}/${name}`))
    .filter((path) => list(path).length > 0)
    .map((path) => `cgroup ${path}`)
}

/**
 * Files of the state directory besides the store, the log, the formatted disks that are kept ready,
 * and what is kept for later builds.
 */
function files(stateDir: string): string[] {
  const kept = /^(?:holt\.db.*|holtd\.(?:log|pid)|disks|builds|\.mnt)$/
  const cached = cachedOfBuilds(stateDir)
  return ['', 'runtimes', 'images', 'checkpoints', 'builds/work'].flatMap((folder) =>
    list(join(stateDir, folder))
      .filter((name) => !kept.test(name) && !cached.has(name))
      .map((name) => `file ${join(folder, name)}`),
  )
}

/** The files of images and checkpoints that nothing but the cache of builds has, on purpose. */
function cachedOfBuilds(stateDir: string): ReadonlySet<string> {
  const path = join(stateDir, 'holt.db')
  if (!existsSync(path)) return new Set()
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    const rows = database
      .prepare(
        `SELECT image_digest AS id FROM build_cache UNION SELECT checkpoint_id FROM build_cache UNION SELECT image_digest FROM pulled_images
        EXCEPT SELECT image_digest FROM templates EXCEPT SELECT checkpoint_id FROM templates`,
      )
      .all() as { id: string | null }[]
    return new Set(rows.flatMap(({ id }) => (id === null ? [] : [id, `${hexOf(id)}.erofs`, `${hexOf(id)}.base`])))
  } catch {
    return new Set() // A service of another version, whose base template is still made, has no such tables.
  } finally {
    database.close()
  }
}

function hexOf(id: string): string {
  return id.replace('sha256:', '')
}

/** The open descriptors of the daemon, by kind. */
function descriptors(pid: number | null): string[] {
  if (pid === null) return []
  return list(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [`descriptor ${readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/\d+\]$/, ']')}`]
    } catch {
      return [] // Closed since it was listed.
    }
  })
}

function entries(dir: string, what: string): string[] {
  return list(dir).map((name) => `${what} ${name}`)
}

function numbers(dir: string): number[] {
  return list(dir)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return [] // What is not there has nothing in it.
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // A process may end, a device may go, while the list is read.
  }
}
