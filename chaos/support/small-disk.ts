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
 * The free space in addition to a copy of the state. It suffices for some runtimes and a memory
 * snapshot, and at length also for an image, but is soon used up.
 */
const room = { mib: every ? 2048 : 384, inodes: 1536 }

/**
 * The largest files of the state, which do not change. A short run mounts them on the disk by name
 * only.
 */
const imageName = /^[0-9a-f]{64}\.(?:erofs|base)$/

/** The settings of a service that reserves no disk space, so that all writers run out of it. */
export const onSmallDisk: Settings = { HOLT_RESERVE_DISK: '0' }

/**
 * A separate file system with a copy of the state directory, mounted over that directory. The
 * daemon there is the one that the helpers of the tests use. A short run does not copy the existing
 * images, but mounts each of them from its original place. New files are always on the disk.
 * Disposal restores the state directory.
 */
export class SmallDisk implements AsyncDisposable {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /** Mounts the disk and starts a daemon on it. */
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

  /** Uses up the free blocks or inodes. Returns the number of bytes or inodes. */
  fill(what: 'blocks' | 'inodes'): number {
    const taken = join(stateDir, '.taken')
    mkdirSync(taken, { recursive: true })
    const name = () => join(taken, String(readdirSync(taken).length))
    const free = statfsSync(stateDir)
    if (what === 'inodes') {
      for (let left = free.ffree; left > 0; left -= 1) writeFileSync(name(), '')
      return free.ffree
    }
    // A file as large as the free space leaves single blocks, which smaller files use.
    for (let bytes = free.bavail * free.bsize; bytes >= free.bsize; bytes = Math.floor(bytes / 2)) {
      const file = name()
      try {
        execFileSync('fallocate', ['-l', String(bytes), file], { stdio: 'ignore' })
      } catch {
        rmSync(file, { force: true }) // It does not fit, but half of it may.
      }
    }
    return free.bavail * free.bsize
  }

  /** Frees the space that `fill` has used. */
  empty(): void {
    rmSync(join(stateDir, '.taken'), { recursive: true })
  }

  /**
   * Makes the disk read-only during writes, as a disk error does (`ext4(5)`: abort). A plain
   * remount is refused while files are open.
   */
  fail(): void {
    execFileSync('mount', ['-o', 'remount,abort', stateDir])
  }

  /**
   * Repairs the disk and mounts it again, without the processes and mounts of runtimes. No daemon
   * may run.
   */
  async mend(): Promise<void> {
    await this.#unmount()
    // A program that still has the disk mounted sees the old copy.
    const mended = join(this.#dir, 'mended')
    execFileSync('cp', ['--sparse=always', this.#image, mended])
    const { status } = spawnSync('e2fsck', ['-p', '-f', mended])
    if (status !== 0 && status !== 1) throw new Error(`e2fsck ended with ${status}`) // 1: it has repaired something.
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

  /**
   * Mounts a disk over the state directory. Then mounts the images that exist there by name only.
   */
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
      // Another runtime on this machine may have started with a copy of our mounts, and keeps them
      // until it ends.
      execFileSync('umount', ['--lazy', stateDir])
    })
    for (const dir of [service.runDir, join(service.runDir, '.runner')])
      for (const name of existsSync(dir) ? readdirSync(dir) : [])
        if (name.startsWith('rt')) rmSync(join(dir, name), { recursive: true, force: true })
  }
}

/** Returns the names of the images in a state directory. */
function imagesIn(dir: string): readonly string[] {
  return readdirSync(join(dir, 'images')).filter((name) => imageName.test(name))
}

/** Returns the space that a tree takes on a disk, without some of its files. */
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
    return false // A killed process still has files open.
  }
}
