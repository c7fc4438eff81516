import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The parent directory, on the file system of the checkpoints. */
const parent = new URL('../../../.holt/', import.meta.url).pathname

/** A file with as many bytes as a checkpoint. Every checkpoint needs the same write and read. */
export class CheckpointFile implements AsyncDisposable {
  readonly #dir: string
  readonly #file: FileHandle
  readonly #bytes: Buffer

  private constructor(dir: string, file: FileHandle, bytes: Buffer) {
    this.#dir = dir
    this.#file = file
    this.#bytes = bytes
  }

  /** Makes a file of `size` bytes. */
  static async open(size: number): Promise<CheckpointFile> {
    await mkdir(parent, { recursive: true })
    const dir = await mkdtemp(join(parent, 'checkpoint-'))
    const file = await open(join(dir, 'pages'), 'w+', 0o600)
    const made = new CheckpointFile(dir, file, randomBytes(size))
    try {
      await made.write({ sync: false })
      return made
    } catch (error) {
      await made[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Writes the bytes to the file after truncating it. */
  async write({ sync }: { readonly sync: boolean }): Promise<void> {
    await this.#file.truncate(0)
    await this.#file.write(this.#bytes, 0, this.#bytes.length, 0)
    if (sync) await this.#file.datasync()
  }

  /** Reads the bytes into new memory. Returns their number. */
  async read(): Promise<number> {
    const into = Buffer.allocUnsafeSlow(this.#bytes.length)
    const { bytesRead } = await this.#file.read(into, 0, into.length, 0)
    if (bytesRead !== into.length) throw new Error(`${bytesRead} bytes read of ${into.length}`)
    return bytesRead
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close()
    await rm(this.#dir, { recursive: true, force: true })
  }
}
