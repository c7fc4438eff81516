import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedLock } from '@holt/async'
import { type CheckpointInfo, EngineError, type ImageDigest, type RuntimeSpec, type Usability } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { imageFlag } from '../drivers/gvisor-driver.ts'
import { hasCode, isThere, removeTemporaries, replaceFile, syncPath } from '../files/durable-files.ts'
import { isCheckpointId, type Layout } from '../installation/layout.ts'
import { findByArgument, killProcess, waitGone } from '../tools/process-table.ts'
import { findDamage, findForeign, sealFiles, stampOf } from './checkpoint-files.ts'
import {
  type CheckpointMaker,
  type CheckpointManifest,
  classIdOf,
  findDifference,
  infoOf,
  NO_RUNNER,
  parseManifest,
} from './manifest.ts'

const MANIFEST = 'manifest.json'

/** The reason why a checkpoint cannot be restored. */
export type Objection = Pick<Extract<Usability, { usable: false }>, 'problem' | 'why'>

/** A checkpoint that can be restored: its files, and the guest in its memory. */
export interface Source {
  readonly dir: string
  readonly sizeBytes: number
  /** SHA-256 of the guest's binary. */
  readonly guest: string
}

/** A manifest, and its text as it is stored. */
export interface StoredManifest {
  readonly manifest: CheckpointManifest
  readonly text: string
}

/** A checkpoint that is being written and has no name yet. */
export interface Draft {
  /** The directory that a runner writes into. It is empty at first. */
  readonly dir: string
  /** Makes the files durable and gives the checkpoint its name. A failure leaves nothing. */
  publish(): Promise<CheckpointInfo>
  /** Removes the draft. */
  discard(): Promise<void>
}

/** The result of this process's check of a checkpoint's files. */
interface Finding {
  readonly stamp: string
  readonly damage: Promise<string | null>
}

/** The time after which a failed removal of a directory is tried again, in milliseconds. */
const retryMs = 5_000

/**
 * The time in which a killed runner has to end, in milliseconds. A runner on a slow disk ends late.
 */
const runnerGoneMs = 5_000

function removeLater(dir: string): void {
  const remove = () => rm(dir, { recursive: true, force: true }).catch(() => removeLater(dir))
  setTimeout(remove, retryMs).unref()
}

/** The stored checkpoints: one directory each, complete as soon as it has its name. */
export class HostCheckpoints {
  readonly #layout: Layout
  readonly #maker: CheckpointMaker
  readonly #hasImage: (digest: ImageDigest) => Promise<boolean>
  readonly #findings = new Map<string, Finding>()
  /** Allows one writer at a time for each checkpoint. */
  readonly locks = new KeyedLock()

  constructor(layout: Layout, maker: CheckpointMaker, hasImage: (digest: ImageDigest) => Promise<boolean>) {
    this.#layout = layout
    this.#maker = maker
    this.#hasImage = hasImage
  }

  /** The class of this host (`Transfer.classId`). */
  get classId(): string | null {
    return this.#maker.runner === NO_RUNNER ? null : classIdOf(this.#maker)
  }

  /** Begins a checkpoint of a runtime that has this spec and this guest. */
  draft(checkpointId: string, spec: RuntimeSpec, guest: string): Promise<Draft> {
    return this.#draft(checkpointId, (dir) => this.#seal(dir, { checkpointId, spec, guest }))
  }

  /**
   * Begins a copy of another host's checkpoint. The files have to be durable, and as the manifest
   * describes them, before the draft is published.
   */
  draftCopy({ manifest, text }: StoredManifest): Promise<Draft> {
    return this.#draft(manifest.checkpointId, async (dir) => {
      await replaceFile(join(dir, MANIFEST), text, true)
      return manifest
    })
  }

  async #draft(checkpointId: string, sealIn: (dir: string) => Promise<CheckpointManifest>): Promise<Draft> {
    const target = this.#layout.checkpoint(checkpointId)
    const dir = this.#temporary()
    await mkdir(dir, { mode: 0o700 }).catch((error: unknown) => {
      throw noSpaceFor(checkpointId, error)
    })
    const discard = () => rm(dir, { recursive: true, force: true })
    const publish = async () => {
      try {
        return await this.#publish({ dir, target }, await sealIn(dir))
      } catch (error) {
        await discard()
        throw noSpaceFor(checkpointId, error)
      }
    }
    return { dir, publish, discard }
  }

  /** Returns the checkpoint's facts, or null if there is none. */
  async find(checkpointId: string): Promise<CheckpointInfo | null> {
    const found = await this.manifestOf(checkpointId)
    return found === null ? null : infoOf(found.manifest)
  }

  /** Returns the manifest of a checkpoint with its exact text, or null if there is none. */
  async manifestOf(checkpointId: string): Promise<StoredManifest | null> {
    let text: string
    try {
      text = await readFile(join(this.#layout.checkpoint(checkpointId), MANIFEST), 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null
      throw error
    }
    const manifest = parseManifest(text)
    return manifest?.checkpointId === checkpointId ? { manifest, text } : null
  }

  /**
   * Returns whether this host can restore the checkpoint now. Reads all of its files unless this
   * process has done so and they are unchanged since, or `skipFiles` is true.
   */
  async usable(checkpointId: string, { restoreOnly = false, skipFiles = false } = {}): Promise<Usability> {
    const manifest = await this.#read(checkpointId)
    if (manifest === null) return { usable: false, problem: 'absent', why: 'there is no such checkpoint' }
    const objection = await this.#objection(manifest, { anyGuest: restoreOnly, skipFiles })
    return objection === null ? { usable: true } : { usable: false, ...objection }
  }

  /**
   * Returns the directory from which to restore this spec, or the reason why that is impossible.
   */
  async directoryFor(spec: RuntimeSpec, checkpointId: string): Promise<Source | Objection> {
    const manifest = await this.#read(checkpointId)
    if (manifest === null) return { problem: 'absent', why: 'there is no such checkpoint' }
    for (const key of ['isolation', 'imageDigest', 'cpu', 'memoryMiB'] as const) {
      if (manifest[key] !== spec[key]) return { problem: 'incompatible', why: `its ${key} is ${manifest[key]}` }
    }
    // The content of a template's checkpoint fits on smaller disks, too. A tenant's checkpoint
    // needs the whole size.
    if (spec.restoreOnly === true && spec.diskMiB < manifest.diskMiB)
      return { problem: 'incompatible', why: `its disk has ${manifest.diskMiB} MiB` }
    const { sizeBytes } = infoOf(manifest)
    const objection = await this.#objection(manifest, { anyGuest: spec.restoreOnly === true })
    return objection ?? { dir: this.#layout.checkpoint(checkpointId), sizeBytes, guest: manifest.maker.guest }
  }

  async list(): Promise<readonly CheckpointInfo[]> {
    return (await this.#manifests()).map(infoOf)
  }

  /** Returns the guests of all checkpoints. The binary of each must be kept. */
  async guests(): Promise<ReadonlySet<string>> {
    const manifests = await this.#manifests()
    return new Set(manifests.map(({ maker }) => maker.guest))
  }

  /**
   * Removes a checkpoint. Succeeds if it is gone. The directory is renamed first, so that no
   * incomplete checkpoint is visible. If its removal fails, it is retried until it succeeds.
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
   * Removes the drafts and half-removed checkpoints of an earlier process. Its runner is killed
   * first if it still works: it would recreate the removed files while its runtime stands still.
   */
  async removeTemporaries(): Promise<void> {
    const drafts = imageFlag(join(this.#layout.checkpoints, '.tmp-'))
    // A runner is found by its arguments, not by its program, whose path an upgrade may change.
    // Other programs that name a draft, such as a backup or a search, are left alone.
    const runners = await findByArgument((argument) => argument.startsWith(drafts))
    for (const runner of runners) await killProcess(runner)
    await waitGone(runners, runnerGoneMs).catch(() => {
      // The runner waits for a disk, and this start would, too. The next start removes the files
      // that it still writes.
    })
    await removeTemporaries(this.#layout.checkpoints)
  }

  /** Gives a checkpoint its name. Its files and its manifest are durable. */
  async #publish(
    { dir, target }: { readonly dir: string; readonly target: string },
    manifest: CheckpointManifest,
  ): Promise<CheckpointInfo> {
    const { checkpointId, files } = manifest
    await failpoint('host.draft-sealed')
    await rename(dir, target)
    await failpoint('host.checkpoint-named')
    await syncPath(this.#layout.checkpoints)
    const stamp = await stampOf(target, files)
    this.#findings.set(checkpointId, { stamp, damage: Promise.resolve(null) })
    return infoOf(manifest)
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
    return (await this.manifestOf(checkpointId))?.manifest ?? null
  }

  /**
   * Returns the reason why a checkpoint cannot be restored, or null. With `anyGuest` it may have
   * another guest than the current one if that binary is still there: a client's checkpoint
   * outlives an upgrade.
   */
  async #objection(
    manifest: CheckpointManifest,
    { anyGuest, skipFiles = false }: { readonly anyGuest: boolean; readonly skipFiles?: boolean },
  ): Promise<Objection | null> {
    const difference = findDifference(manifest.maker, this.#maker, anyGuest)
    if (difference !== null) return { problem: 'incompatible', why: difference }
    if (!(await this.#hasImage(manifest.imageDigest)))
      return { problem: 'incompatible', why: `its image ${manifest.imageDigest} is not here` }
    if (anyGuest && !(await isThere(this.#layout.guest(manifest.maker.guest))))
      return { problem: 'incompatible', why: `its guest ${manifest.maker.guest} is not here` }
    if (skipFiles) return null
    const dir = this.#layout.checkpoint(manifest.checkpointId)
    const why = (await findForeign(dir, manifest.files)) ?? (await this.#findDamage(dir, manifest))
    return why === null ? null : { problem: 'damaged', why }
  }

  /**
   * Does the same as `findDamage`, but reads unchanged files only once. Concurrent callers share
   * one read.
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
      // The files could not be read, which may be temporary.
      if (this.#findings.get(checkpointId) === finding) this.#findings.delete(checkpointId)
      throw error
    }
  }
}

/** Returns the error for a failure to write a checkpoint. */
function noSpaceFor(checkpointId: string, error: unknown): unknown {
  if (!hasCode(error, 'ENOSPC', 'EDQUOT')) return error
  return new EngineError('no_space', `no space for checkpoint ${checkpointId}`, { cause: error })
}
