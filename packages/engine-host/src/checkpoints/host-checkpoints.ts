import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CheckpointInfo,
  EngineError,
  failpoint,
  type ImageDigest,
  type RuntimeSpec,
  type Usability,
} from '@holt/engine'
import { imageFlag } from '../drivers/gvisor-driver.ts'
import { isCheckpointId, type Layout } from '../layout.ts'
import { hasCode, isThere, removeTemporaries, replaceFile, syncPath } from '../tools/durable-files.ts'
import { KeyedLock } from '../tools/keyed-lock.ts'
import { findByArgument, killProcess, waitGone } from '../tools/process-table.ts'
import { findDamage, findForeign, sealFiles, stampOf } from './checkpoint-files.ts'
import { type CheckpointMaker, type CheckpointManifest, findDifference, infoOf, parseManifest } from './manifest.ts'

const MANIFEST = 'manifest.json'

/** Why a checkpoint cannot be restored. */
export type Objection = Pick<Extract<Usability, { usable: false }>, 'problem' | 'why'>

/** A checkpoint that can be restored: its files, and the guest that is in it. */
export interface Source {
  readonly dir: string
  readonly sizeBytes: number
  /** SHA-256 of the guest's binary. */
  readonly guest: string
}

/** A checkpoint that is being written, and has no name yet. */
export interface Draft {
  /** Empty at first; a runner writes into it. */
  readonly dir: string
  /** Makes what is in it durable and gives it its name, or leaves nothing. */
  publish(): Promise<CheckpointInfo>
  /** Leaves nothing. */
  discard(): Promise<void>
}

/** What this process has found the files of a checkpoint to be. */
interface Finding {
  readonly stamp: string
  readonly damage: Promise<string | null>
}

/** After this long the removal of a directory is tried again that failed. */
const retryMs = 5_000

/** A killed runner leaves when its disk lets it. */
const runnerGoneMs = 5_000

function removeLater(dir: string): void {
  const remove = () => rm(dir, { recursive: true, force: true }).catch(() => removeLater(dir))
  setTimeout(remove, retryMs).unref()
}

/** Checkpoints at rest: a directory each, whole as soon as it has its name. */
export class HostCheckpoints {
  readonly #layout: Layout
  readonly #maker: CheckpointMaker
  readonly #hasImage: (digest: ImageDigest) => Promise<boolean>
  readonly #findings = new Map<string, Finding>()
  /** One writer at a time for each checkpoint. */
  readonly locks = new KeyedLock()

  constructor(layout: Layout, maker: CheckpointMaker, hasImage: (digest: ImageDigest) => Promise<boolean>) {
    this.#layout = layout
    this.#maker = maker
    this.#hasImage = hasImage
  }

  /** Begins a checkpoint of a runtime that has this spec and this guest. */
  async draft(checkpointId: string, spec: RuntimeSpec, guest: string): Promise<Draft> {
    const target = this.#layout.checkpoint(checkpointId)
    const dir = this.#temporary()
    await mkdir(dir, { mode: 0o700 }).catch((error: unknown) => {
      throw noSpaceFor(checkpointId, error)
    })
    const discard = () => rm(dir, { recursive: true, force: true })
    const publish = async () => {
      try {
        const manifest = await this.#seal(dir, { checkpointId, spec, guest })
        await failpoint('host.draft-sealed')
        await rename(dir, target)
        await failpoint('host.checkpoint-named')
        await syncPath(this.#layout.checkpoints)
        const stamp = await stampOf(target, manifest.files)
        this.#findings.set(checkpointId, { stamp, damage: Promise.resolve(null) })
        return infoOf(manifest)
      } catch (error) {
        await discard()
        throw noSpaceFor(checkpointId, error)
      }
    }
    return { dir, publish, discard }
  }

  /** The checkpoint's facts; null when there is none. */
  async find(checkpointId: string): Promise<CheckpointInfo | null> {
    const manifest = await this.#read(checkpointId)
    return manifest === null ? null : infoOf(manifest)
  }

  /**
   * Whether this host can restore it now. All of its files are read unless this process has done so
   * and they are the same since.
   */
  async usable(checkpointId: string, { restoreOnly = false } = {}): Promise<Usability> {
    const manifest = await this.#read(checkpointId)
    if (manifest === null) return { usable: false, problem: 'absent', why: 'there is no such checkpoint' }
    const objection = await this.#objection(manifest, restoreOnly)
    return objection === null ? { usable: true } : { usable: false, ...objection }
  }

  /** The directory to restore this spec from and what is in it, or why that cannot be. */
  async directoryFor(spec: RuntimeSpec, checkpointId: string): Promise<Source | Objection> {
    const manifest = await this.#read(checkpointId)
    if (manifest === null) return { problem: 'absent', why: 'there is no such checkpoint' }
    for (const key of ['isolation', 'imageDigest', 'cpu', 'memoryMiB'] as const) {
      if (manifest[key] !== spec[key]) return { problem: 'incompatible', why: `its ${key} is ${manifest[key]}` }
    }
    // What a template has written fits on smaller disks too; of what a tenant has written all must
    // have room.
    if (spec.restoreOnly === true && spec.diskMiB < manifest.diskMiB)
      return { problem: 'incompatible', why: `its disk has ${manifest.diskMiB} MiB` }
    const { sizeBytes } = infoOf(manifest)
    const objection = await this.#objection(manifest, spec.restoreOnly === true)
    return objection ?? { dir: this.#layout.checkpoint(checkpointId), sizeBytes, guest: manifest.maker.guest }
  }

  async list(): Promise<readonly CheckpointInfo[]> {
    return (await this.#manifests()).map(infoOf)
  }

  /** The guests that are in checkpoints: as long as one is, its binary has to be there. */
  async guests(): Promise<ReadonlySet<string>> {
    const manifests = await this.#manifests()
    return new Set(manifests.map(({ maker }) => maker.guest))
  }

  /**
   * Gone is success. It leaves by a rename, so that half of one is never seen; where the rest fails
   * it is tried again until it is done.
   */
  async remove(checkpointId: string): Promise<void> {
    const temporary = this.#temporary()
    try {
      await rename(this.#layout.checkpoint(checkpointId), temporary)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      throw error
    }
    this.#findings.delete(checkpointId)
    try {
      await failpoint('host.checkpoint-unnamed')
      await rm(temporary, { recursive: true, force: true })
    } catch (error) {
      removeLater(temporary)
      throw error
    }
  }

  /**
   * Removes what an earlier process was about to publish or to remove. A runner that it has left at
   * work is ended first: it would write what is removed anew, with its runtime standing still.
   */
  async removeTemporaries(): Promise<void> {
    const drafts = imageFlag(join(this.#layout.checkpoints, '.tmp-'))
    // By what it is told, not by its program: an upgrade may have put that elsewhere. Whoever else
    // names a draft, a backup or a search say, is let be.
    const runners = await findByArgument((argument) => argument.startsWith(drafts))
    for (const runner of runners) await killProcess(runner)
    await waitGone(runners, runnerGoneMs).catch(() => {
      // It waits for a disk, as this start would. What it still writes goes with the next one.
    })
    await removeTemporaries(this.#layout.checkpoints)
  }

  #temporary(): string {
    return join(this.#layout.checkpoints, `.tmp-${randomBytes(8).toString('hex')}`)
  }

  async #seal(
    dir: string,
    { checkpointId, spec, guest }: { checkpointId: string; spec: RuntimeSpec; guest: string },
  ): Promise<CheckpointManifest> {
    const { isolation, imageDigest, cpu, memoryMiB, diskMiB } = spec
    const manifest: CheckpointManifest = {
      format: 3,
      checkpointId,
      isolation,
      imageDigest,
      cpu,
      memoryMiB,
      diskMiB,
      maker: { ...this.#maker, guest },
      files: await sealFiles(dir),
    }
    await replaceFile(join(dir, MANIFEST), JSON.stringify(manifest, null, 1), true)
    return manifest
  }

  async #manifests(): Promise<readonly CheckpointManifest[]> {
    const manifests: CheckpointManifest[] = []
    for (const name of await readdir(this.#layout.checkpoints)) {
      const manifest = isCheckpointId(name) ? await this.#read(name) : null
      if (manifest !== null) manifests.push(manifest)
    }
    return manifests
  }

  async #read(checkpointId: string): Promise<CheckpointManifest | null> {
    let text: string
    try {
      text = await readFile(join(this.#layout.checkpoint(checkpointId), MANIFEST), 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
      throw error
    }
    const manifest = parseManifest(text)
    return manifest?.checkpointId === checkpointId ? manifest : null
  }

  /**
   * With `anyGuest` it may have another guest than the one of today, where that is still there:
   * what somebody has put aside outlives an upgrade.
   */
  async #objection(manifest: CheckpointManifest, anyGuest: boolean): Promise<Objection | null> {
    const difference = findDifference(manifest.maker, this.#maker, anyGuest)
    if (difference !== null) return { problem: 'incompatible', why: difference }
    if (!(await this.#hasImage(manifest.imageDigest)))
      return { problem: 'incompatible', why: `its image ${manifest.imageDigest} is not here` }
    if (anyGuest && !(await isThere(this.#layout.guest(manifest.maker.guest))))
      return { problem: 'incompatible', why: `its guest ${manifest.maker.guest} is not here` }
    const dir = this.#layout.checkpoint(manifest.checkpointId)
    const why = (await findForeign(dir, manifest.files)) ?? (await this.#findDamage(dir, manifest))
    return why === null ? null : { problem: 'damaged', why }
  }

  /**
   * As `findDamage`, but what has been read once is read again only when it has changed, and once
   * for all who ask meanwhile.
   */
  async #findDamage(dir: string, { checkpointId, files }: CheckpointManifest): Promise<string | null> {
    const stamp = await stampOf(dir, files)
    const known = this.#findings.get(checkpointId)
    if (known?.stamp === stamp) return known.damage
    const finding: Finding = { stamp, damage: findDamage(dir, files) }
    this.#findings.set(checkpointId, finding)
    try {
      return await finding.damage
    } catch (error) {
      // It could not be read, which may be over soon.
      if (this.#findings.get(checkpointId) === finding) this.#findings.delete(checkpointId)
      throw error
    }
  }
}

/** What a failure to write a checkpoint is. */
function noSpaceFor(checkpointId: string, error: unknown): unknown {
  if (!hasCode(error, 'ENOSPC', 'EDQUOT')) return error
  return new EngineError('no_space', `no space for checkpoint ${checkpointId}`, { cause: error })
}
