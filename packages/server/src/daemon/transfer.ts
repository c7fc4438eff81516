import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ServerConfig } from '../config/config.ts'
import { releaseLock, takeLock } from '../config/daemon-lock.ts'
import { openInstallation } from '../config/installation.ts'
import { storePlace } from '../store/open-store.ts'
import { exportStore, type Imported, importStore } from '../store/transfer/transfer.ts'

/** The name of a file that stands for the standard streams. */
const standard = '-'

/** Writes the store to a file of mode 0600, or to stdout. The daemon may run. A file is there when it is whole, and was there before otherwise. */
export async function exportTo(config: ServerConfig, file: string): Promise<void> {
  const lines = Readable.from(exportStore(storePlace(config), Date.now()))
  if (file === standard) return pipeline(lines, process.stdout, { end: false })
  const temporary = `${file}.${randomBytes(8).toString('hex')}.part`
  try {
    // `wx`: never a file or a link that somebody else has put there, whose mode would hold.
    await pipeline(lines, createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true }))
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Fills the empty store of an installation from a file, or from stdin. The daemon must not run. */
export async function importFrom(config: ServerConfig, file: string): Promise<Imported> {
  const { stateDir } = config
  await openInstallation(stateDir)
  await takeLock(stateDir)
  try {
    const dump = file === standard ? process.stdin : createReadStream(file)
    return await importStore(storePlace(config), { stateDir, dump })
  } finally {
    await releaseLock(stateDir)
  }
}
