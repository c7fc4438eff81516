import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { restart } from '../../e2e/support/crash.ts'
import { service } from '../../e2e/support/facts.ts'
import { closeConnections } from '../../e2e/support/http.ts'
import { type Settings, stateDir, stopService } from '../../e2e/support/service-process.ts'
import { until } from '../../e2e/support/until.ts'
import { every } from './length.ts'
import { loseRuntime, unmountBelow } from './lose-runtime.ts'

/**
 * Room beside a copy of the state for some runtimes and a memory snapshot, at length for an image
 * as well, and soon used up.
 */
const room = { mib: every ? 2048 : 384, inodes: 1536 }

/**
 * The largest files of the state, which do not change. A short run mounts them on the disk by name
 * only.
 */
const imageName = /^[0-9a-f]{64}\.(?:erofs|base)$/

/** Of the disk nothing is kept by the service itself, so that all that writes meets its end. */
export const onSmallDisk: Settings = { HOLT_RESERVE_DISK: '0' }

/**
 * A file system of its own, with a copy of the state directory, in the place of that directory: the
 * daemon that runs there is the one that the helpers of the tests know. In the short version the
 * images that are there are not copied: each is mounted from where it is. What is made later lies
 * on the disk in both. The state directory is as it was when it is disposed of.
 */
export class SmallDisk implements AsyncDisposable {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Has a daemon run there. */
  static async mount(): Promise<SmallDisk> {
    await stopService()
    closeConnections()
    unmountBelow(stateDir)
    const disk = new SmallDisk(mkdtempSync(join(tmpdir(), 'holt-chaos-disk-')))
    try {
      disk.#make()
      await restart(onSmallDisk)
    } catch (error) {
      await disk[Symbol.asyncDispose]()
      throw error
    }
    return disk
  }

  /** Takes what is left of it. Answers how much that was. */
  fill(what: 'blocks' | 'inodes'): number {
    const taken = join(stateDir, '.taken')
    mkdirSync(taken, { recursive: true })
    const name = () => join(taken, String(readdirSync(taken).length))
    const free = statfsSync(stateDir)
    if (what === 'inodes') {
      for (let left = free.ffree; left > 0; left -= 1) writeFileSync(name(), '')
      return free.ffree
    }
    // A file as large as the free room leaves single blocks, which smaller files take.
    for (let bytes = free.bavail * free.bsize; bytes >= free.bsize; bytes = Math.floor(bytes / 2)) {
      const file = name()
      try {
        execFileSync('fallocate', ['-l', String(bytes), file], { stdio: 'ignore' })
      } catch {
        rmSync(file, { force: true }) // It does not fit, and half of it may.
      }
    }
    return free.bavail * free.bsize
  }

  /** Gives back what was taken. */
  empty(): void {
    rmSync(join(stateDir, '.taken'), { recursive: true })
  }

  /**
   * Turns it read-only under whoever writes, as an error of the disk does (`ext4(5)`: abort). A
   * remount alone is refused while files are open.
   */
  fail(): void {
    execFileSync('mount', ['-o', 'remount,abort', stateDir])
  }

  /** Has it mended and mounted anew, with nothing left of what ran. No daemon runs. */
  async mend(): Promise<void> {
    await this.#unmount()
    // A program that still has it mounted sees the old one.
    const mended = join(this.#dir, 'mended')
    execFileSync('cp', ['--sparse=always', this.#image, mended])
    const { status } = spawnSync('e2fsck', ['-p', '-f', mended])
    if (status !== 0 && status !== 1) throw new Error(`e2fsck ended with ${status}`) // 1: it has mended something.
    this.#mountOverState(mended)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopService('SIGKILL')
    closeConnections()
    await this.#unmount()
    rmSync(this.#dir, { recursive: true })
    await restart()
  }

  get #image(): string {
    return join(this.#dir, 'image')
  }

  #make(): void {
    const copy = join(this.#dir, 'copy')
    const images = every ? [] : imagesIn(stateDir)
    const copied = sizeOf(
      stateDir,
      images.map((name) => join(stateDir, 'images', name)),
    )
    writeFileSync(this.#image, '')
    truncateSync(this.#image, (copied.mib + room.mib) * 2 ** 20)
    const inodes = String(copied.inodes + images.length + room.inodes)
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', '-N', inodes, '-e', 'remount-ro', this.#image])
    mkdirSync(copy)
    execFileSync('mount', ['-o', 'loop', this.#image, copy])
    try {
      const without = images.map((name) => `--exclude=./images/${name}`)
      execFileSync('sh', ['-c', 'tar -cSf - "$@" . | tar -xSf - -C "$0"', copy, '-C', stateDir, ...without])
      for (const name of images) writeFileSync(join(copy, 'images', name), '', { mode: 0o600 })
    } finally {
      execFileSync('umount', [copy])
    }
    this.#mountOverState(this.#image)
  }

  /** Mounts a disk over the state directory, and on it the images that are there by name only. */
  #mountOverState(disk: string): void {
    const images = every ? [] : imagesIn(stateDir)
    const under = join(this.#dir, 'under')
    mkdirSync(under, { recursive: true })
    execFileSync('mount', ['--bind', stateDir, under])
    try {
      // A mount over the one would propagate to the other (mount_namespaces(7), shared subtrees).
      execFileSync('mount', ['--make-private', under])
      execFileSync('mount', ['-o', 'loop', disk, stateDir])
      for (const name of images)
        execFileSync('mount', ['--bind', join(under, 'images', name), join(stateDir, 'images', name)])
    } finally {
      execFileSync('umount', [under])
    }
  }

  async #unmount(): Promise<void> {
    for (const id of readdirSync(join(stateDir, 'runtimes')).filter((name) => name.startsWith('rt')))
      await loseRuntime(id, join(stateDir, 'runtimes', id))
    for (const dir of [stateDir, service.runDir]) unmountBelow(dir)
    // The mount here is this disk, not the directory below it.
    if (!isMounted(stateDir)) return
    await until('nobody uses the disk', async () => tryUnmount(stateDir)).catch(() => {
      // A runtime of somebody else on this machine may have begun with a copy of our mounts, and
      // keep what is mounted there until it ends.
      execFileSync('umount', ['--lazy', stateDir])
    })
    for (const dir of [service.runDir, join(service.runDir, '.runner')])
      for (const name of existsSync(dir) ? readdirSync(dir) : [])
        if (name.startsWith('rt')) rmSync(join(dir, name), { recursive: true, force: true })
  }
}

/** The names of the images that a state directory has. */
function imagesIn(dir: string): readonly string[] {
  return readdirSync(join(dir, 'images')).filter((name) => imageName.test(name))
}

/** Returns the room that a tree takes on a disk, without some of its files. */
function sizeOf(dir: string, without: readonly string[]): { mib: number; inodes: number } {
  const excluded = without.map((path) => `--exclude=${path}`)
  const count = (...options: string[]) =>
    Number.parseInt(execFileSync('du', ['-s', ...options, ...excluded, dir], { encoding: 'utf8' }), 10)
  return { mib: count('-m'), inodes: count('--inodes') }
}

function isMounted(dir: string): boolean {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[4] === dir)
}

function tryUnmount(dir: string): boolean {
  try {
    execFileSync('umount', [dir], { stdio: 'ignore' })
    return true
  } catch {
    return false // What was killed still has files open.
  }
}
