import { readFile, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type MasterKeysPlace, masterKeysPath } from '../../foundation/sealing/master-key-file.ts'
import { storeExists, storePlace } from '../../foundation/store/open-store.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

/**
 * The size of the base image, one disk and work space. Below the lower bound creates are refused.
 */
const diskMiB = { wanted: 6 * 1024, needed: 2 * 1024 }

/** The share of all inodes that should be free. */
const inodesFree = { wanted: 0.05, needed: 0.005 }

/** The types of `statfs(2)` that lose their files on a reboot. */
const memoryFilesystems: ReadonlyMap<number, string> = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x8584_58f6, 'ramfs'],
])

/** The facts of a directory's disk. */
export interface DiskFacts {
  readonly sizeMiB: number
  readonly freeMiB: number
  readonly inodes: number
  readonly freeInodes: number
  readonly filesystem: number
  /** The mount of the directory. */
  readonly mount: MountFacts
}

/** The place and the options of a mount. */
export interface MountFacts {
  readonly point: string
  readonly options: readonly string[]
}

/**
 * Reads the facts of the disk of a directory. If the directory does not exist, its closest existing
 * parent is used.
 */
export async function readDiskFacts(path: string): Promise<DiskFacts> {
  const place = await existing(path)
  const { blocks, bavail, bsize, files, ffree, type } = await statfs(place)
  return {
    sizeMiB: Math.floor((blocks * bsize) / 2 ** 20),
    freeMiB: Math.floor((bavail * bsize) / 2 ** 20),
    inodes: files,
    freeInodes: ffree,
    filesystem: type,
    mount: mountOf(await readFile('/proc/self/mounts', 'utf8'), place),
  }
}

/**
 * Returns the mount of a path (proc_pid_mounts(5)): the deepest one above it, and the last of equal
 * ones.
 */
export function mountOf(mounts: string, path: string): MountFacts {
  let best = { point: '', options: '' }
  for (const line of mounts.split('\n')) {
    const [, escaped = '', , options = ''] = line.split(' ')
    const point = escaped.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (isAbove && point.length >= best.point.length) best = { point, options }
  }
  return { point: best.point, options: best.options.split(',') }
}

/** Checks that the disk of the state directory has space, is persistent, and lets programs run. */
export function checkDisk(stateDir: string, facts: DiskFacts): readonly Check[] {
  const { freeMiB, inodes, freeInodes, filesystem, mount } = facts
  const free = `${freeMiB} MiB are free on the disk of ${stateDir}`
  const elsewhere = 'export HOLT_STATE_DIR=/a/larger/disk'
  const checks = [
    freeMiB >= diskMiB.wanted
      ? ok('disk', free)
      : freeMiB >= diskMiB.needed
        ? warn('disk', `${free}; ${diskMiB.wanted} MiB are better`)
        : mustFix('disk', `${free}; ${diskMiB.needed} MiB are needed`, elsewhere),
  ]
  // Some file systems create inodes on demand and report none.
  const share = inodes === 0 ? 1 : freeInodes / inodes
  if (share < inodesFree.needed) checks.push(mustFix('inodes', `${freeInodes} of ${inodes} are free`, elsewhere))
  else if (share < inodesFree.wanted) checks.push(warn('inodes', `${freeInodes} of ${inodes} are free`))
  else checks.push(ok('inodes', inodes === 0 ? 'made as needed' : `${freeInodes} of ${inodes} are free`))
  const inMemory = memoryFilesystems.get(filesystem)
  if (inMemory !== undefined)
    checks.push(
      warn('file system', `${stateDir} is on a ${inMemory}: a reboot empties it`, 'export HOLT_STATE_DIR=/a/disk'),
    )
  for (const [option, instead] of [
    ['ro', 'rw'],
    ['noexec', 'exec'],
  ] as const) {
    if (!mount.options.includes(option)) continue
    const message = `${stateDir} is on ${mount.point}, which is mounted ${option}`
    // Only a mount point can be remounted, so the command names it instead of the directory.
    checks.push(mustFix('mount options', message, `mount -o remount,${instead} ${mount.point}`))
  }
  return checks
}

/** Checks that the state directory belongs to root alone. */
export async function checkStateDir(stateDir: string): Promise<Check> {
  const info = await stat(stateDir).catch(() => null) // The first start makes it.
  const owner = process.geteuid?.() ?? 0
  if (info === null) return ok('state directory', `${stateDir}, which the first start makes`)
  if (!info.isDirectory())
    return mustFix('state directory', `${stateDir} is not a directory`, 'export HOLT_STATE_DIR=/another')
  if (info.uid !== owner)
    return mustFix('state directory', `it belongs to the user ${info.uid}`, `chown ${owner} ${stateDir}`)
  if ((info.mode & 0o077) !== 0) return mustFix('state directory', 'others can enter it', `chmod 700 ${stateDir}`)
  return ok('state directory', stateDir)
}

/** Checks that the master keys exist, and that only root can read them. */
export async function checkMasterKeys(settings: Parameters<typeof storePlace>[0] & MasterKeysPlace): Promise<Check> {
  const path = masterKeysPath(settings)
  const info = await stat(path).catch(() => null) // The file is missing.
  if (info === null) {
    // The check of the store reports the reason.
    const hasStore = await storeExists(storePlace(settings)).catch(() => null)
    if (hasStore === null)
      return warn('master keys', 'they are missing, and it is unknown whether the store has secrets')
    if (!hasStore) return ok('master keys', 'the first start makes them')
    return mustFix('master keys', 'they are missing: no secret can be opened', `cp BACKUP/master-keys.json ${path}`)
  }
  // A file of the operator may be for the group of the service, as a Secret of Kubernetes is.
  const forOthers = settings.masterKeysFile != null && info.gid === process.getegid?.() ? 0o027 : 0o077
  if ((info.mode & forOthers) !== 0) return mustFix('master keys', 'others can read them', `chmod 600 ${path}`)
  const count = countKeys(await readFile(path, 'utf8').catch(() => ''))
  if (count > 0) return ok('master keys', count === 1 ? 'one' : `${count}: a rotation is not finished`)
  return mustFix('master keys', 'they cannot be read: no secret can be opened', `cp BACKUP/master-keys.json ${path}`)
}

function countKeys(text: string): number {
  try {
    const { keys } = JSON.parse(text) as { keys: unknown }
    return Array.isArray(keys) ? keys.length : 0
  } catch {
    return 0 // The file is not JSON.
  }
}

async function existing(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    if (at === '/' || (await stat(at).catch(() => null)) !== null) return at
  }
}
