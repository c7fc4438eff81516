import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode, isThere } from '../files/durable-files.ts'

/** The directory of all claims of a host. A reboot empties it and ends the runtimes. */
const CLAIMS_DIR = '/run/holt-ids'

/**
 * The claims of ranges of user ids, which all installations of a host see. A claim is a symbolic
 * link from the first id to the record of the runtime. Making one succeeds only once (symlink(2)).
 */
export class IdClaims {
  readonly #runtimesDir: string
  readonly #dir: string

  /** `runtimesDir` holds the directories of this installation's runtimes. */
  constructor(runtimesDir: string, dir: string = CLAIMS_DIR) {
    this.#runtimesDir = runtimesDir
    this.#dir = dir
  }

  /** Claims a range for the runtime with this record. Returns false if another runtime has it. */
  async claim(firstId: number, record: string): Promise<boolean> {
    const path = join(this.#dir, String(firstId))
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    } catch {
      return true // Without a writable /run, installations differ only in their first range.
    }
    try {
      await symlink(record, path)
      return true
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return (await targetOf(path)) === record
      return true // As above.
    }
  }

  /** Releases the range of the runtime with this record. */
  async release(firstId: number, record: string): Promise<void> {
    const path = join(this.#dir, String(firstId))
    if ((await targetOf(path)) === record) await rm(path, { force: true })
  }

  /**
   * Releases the claims of earlier engines of this installation for all other records. A claim with
   * an existing record stays: the engine may have failed to read it, and its processes may still
   * run.
   */
  async releaseOthers(records: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#dir).catch(() => [])) {
      const record = await targetOf(join(this.#dir, name))
      const isOwn = record !== null && dirname(dirname(record)) === this.#runtimesDir
      if (isOwn && !records.has(record) && !(await isThere(record))) await this.release(Number(name), record)
    }
  }
}

/** Returns the record of a claim, or null if there is no claim. */
async function targetOf(path: string): Promise<string | null> {
  return readlink(path).catch(() => null) // Released meanwhile.
}
