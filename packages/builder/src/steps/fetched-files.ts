import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { BuildHost, FetchedFile } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import { filledDisk, stepDiskMiB } from './disk-check.ts'

interface Stored extends Omit<FetchedFile, 'body'> {
  readonly path: string
  readonly sha256: string
  readonly sizeBytes: number
}

/**
 * The files that ADD has fetched, each address once. They have random names in the build's work
 * directory.
 */
export class FetchedFiles implements AsyncDisposable {
  readonly #host: BuildHost
  readonly #diskMiB: number
  readonly #signal: AbortSignal
  readonly #stored = new Map<string, Stored>()

  constructor(host: BuildHost, { diskMiB, signal }: { readonly diskMiB: number; readonly signal: AbortSignal }) {
    this.#host = host
    this.#diskMiB = diskMiB
    this.#signal = signal
  }

  async digestOf(url: string): Promise<string> {
    return (await this.#fetch(url)).sha256
  }

  /** Returns the file at an address. Throws `step_failed` if its digest is not `sha256`. */
  async open(url: string, sha256: string): Promise<FetchedFile & { readonly sizeBytes: number }> {
    const stored = await this.#fetch(url)
    if (stored.sha256 !== sha256)
      throw new BuildError(
        'step_failed',
        `${url} has the digest sha256:${stored.sha256}, which differs from the one in --checksum.`,
        {
          details: { sha256: stored.sha256, checksum: sha256 },
        },
      )
    return { ...stored, body: readLater(stored.path) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { path } of this.#stored.values()) await rm(path, { force: true })
  }

  async #fetch(url: string): Promise<Stored> {
    const known = this.#stored.get(url)
    if (known !== undefined) return known
    const { body, ...about } = await this.#host.fetch(url, this.#signal)
    const path = join(this.#host.workDir, `add-${randomUUID()}`)
    const hash = createHash('sha256')
    let sizeBytes = 0
    const maxBytes = stepDiskMiB(this.#diskMiB) * 2 ** 20
    const counted = async function* (this: FetchedFiles) {
      for await (const chunk of body) {
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) throw filledDisk({ diskMiB: this.#diskMiB, baseBytes: 0 }, null)
        hash.update(chunk)
        yield chunk
      }
    }
    try {
      await pipeline(counted.call(this), createWriteStream(path, { mode: 0o600, flags: 'wx' }), {
        signal: this.#signal,
      })
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    const stored = { ...about, path, sizeBytes, sha256: hash.digest('hex') }
    this.#stored.set(url, stored)
    return stored
  }
}

/**
 * Yields the bytes of a file, which is opened at the first read. An unread file is never opened.
 */
async function* readLater(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path)
}
