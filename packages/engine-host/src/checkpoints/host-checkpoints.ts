import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { CheckpointInfo, ImageDigest, RuntimeSpec } from '@holt/engine'
import type { Layout } from '../layout.ts'
import { hasCode, removeTemporaries, replaceFile, syncPath } from '../tools/durable-files.ts'
import { type CheckpointMaker, type CheckpointManifest, findDifference, infoOf, parseManifest } from './manifest.ts'

const MANIFEST = 'manifest.json'

/** Checkpoints at rest: a directory each, whole as soon as it has its name. */
export class HostCheckpoints {
  readonly #layout: Layout
  readonly #maker: CheckpointMaker
  readonly #hasImage: (digest: ImageDigest) => Promise<boolean>
  /** Checkpoints whose digests this process has compared. */
  readonly #verified = new Set<string>()

  constructor(layout: Layout, maker: CheckpointMaker, hasImage: (digest: ImageDigest) => Promise<boolean>) {
    this.#layout = layout
    this.#maker = maker
    this.#hasImage = hasImage
  }

  /** Has `write` fill an empty directory and publishes it as `checkpointId`, durably, or leaves nothing. */
  async publish(
    checkpointId: string,
    spec: RuntimeSpec,
    write: (dir: string) => Promise<void>,
  ): Promise<CheckpointInfo> {
    const target = this.#layout.checkpoint(checkpointId)
    const temporary = join(this.#layout.checkpoints, `.tmp-${randomBytes(8).toString('hex')}`)
    await mkdir(temporary, { mode: 0o700 })
    try {
      await write(temporary)
      const { isolation, imageDigest, cpu, memoryMiB } = spec
      const files = await sealFiles(temporary)
      const manifest: CheckpointManifest = {
        format: 1,
        checkpointId,
        isolation,
        imageDigest,
        cpu,
        memoryMiB,
        maker: this.#maker,
        files,
      }
      await replaceFile(join(temporary, MANIFEST), JSON.stringify(manifest, null, 1), true)
      await rename(temporary, target)
      await syncPath(this.#layout.checkpoints)
      this.#verified.add(checkpointId)
      return infoOf(manifest)
    } catch (error) {
      await rm(temporary, { recursive: true, force: true })
      throw error
    }
  }

  /** The checkpoint's facts; null when there is none. */
  async find(checkpointId: string): Promise<CheckpointInfo | null> {
    const manifest = await this.#read(checkpointId)
    return manifest === null ? null : infoOf(manifest)
  }

  /** Whether this host can restore it now. Sizes are compared each time, digests once for each process. */
  async usable(
    checkpointId: string,
  ): Promise<{ readonly usable: true } | { readonly usable: false; readonly why: string }> {
    const manifest = await this.#read(checkpointId)
    const why = manifest === null ? 'there is no such checkpoint' : await this.#objection(manifest)
    return why === null ? { usable: true } : { usable: false, why }
  }

  /** The directory to restore this spec from, or why it boots cold. */
  async directoryFor(
    spec: RuntimeSpec,
    checkpointId: string,
  ): Promise<{ readonly dir: string } | { readonly why: string }> {
    const manifest = await this.#read(checkpointId)
    if (manifest === null) return { why: 'there is no such checkpoint' }
    for (const key of ['isolation', 'imageDigest', 'cpu', 'memoryMiB'] as const) {
      if (manifest[key] !== spec[key]) return { why: `its ${key} is ${manifest[key]}` }
    }
    const why = await this.#objection(manifest)
    return why === null ? { dir: this.#layout.checkpoint(checkpointId) } : { why }
  }

  async list(): Promise<readonly CheckpointInfo[]> {
    const infos: CheckpointInfo[] = []
    for (const name of await readdir(this.#layout.checkpoints)) {
      const info = /^[A-Za-z0-9]/.test(name) ? await this.find(name) : null
      if (info !== null) infos.push(info)
    }
    return infos
  }

  /** Gone is success. It leaves by a rename, so that half of one is never seen. */
  async remove(checkpointId: string): Promise<void> {
    const temporary = join(this.#layout.checkpoints, `.tmp-${randomBytes(8).toString('hex')}`)
    try {
      await rename(this.#layout.checkpoint(checkpointId), temporary)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return
      throw error
    }
    this.#verified.delete(checkpointId)
    await rm(temporary, { recursive: true, force: true })
  }

  /** Removes what an earlier process was about to publish or to remove. */
  removeTemporaries(): Promise<void> {
    return removeTemporaries(this.#layout.checkpoints)
  }

  async #read(checkpointId: string): Promise<CheckpointManifest | null> {
    try {
      return parseManifest(await readFile(join(this.#layout.checkpoint(checkpointId), MANIFEST), 'utf8'))
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return null
      throw error
    }
  }

  async #objection(manifest: CheckpointManifest): Promise<string | null> {
    const difference = findDifference(manifest.maker, this.#maker)
    if (difference !== null) return difference
    if (!(await this.#hasImage(manifest.imageDigest))) return `its image ${manifest.imageDigest} is not here`
    const dir = this.#layout.checkpoint(manifest.checkpointId)
    for (const file of manifest.files) {
      const size = await stat(join(dir, file.name)).then(
        (found) => found.size,
        () => null,
      ) // Absent.
      if (size !== file.sizeBytes) return `${file.name} is not ${file.sizeBytes} bytes long`
    }
    if (this.#verified.has(manifest.checkpointId)) return null
    for (const file of manifest.files) {
      if ((await digestOf(join(dir, file.name))) !== file.sha256) return `${file.name} does not have its digest`
    }
    this.#verified.add(manifest.checkpointId)
    return null
  }
}

/** Makes the files of a checkpoint durable and lists them. */
async function sealFiles(dir: string): Promise<CheckpointManifest['files']> {
  const names = (await readdir(dir)).sort()
  return Promise.all(
    names.map(async (name) => {
      const path = join(dir, name)
      const [sha256] = await Promise.all([digestOf(path), syncPath(path)])
      return { name, sizeBytes: (await stat(path)).size, sha256 }
    }),
  )
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
  return hash.digest('hex')
}
