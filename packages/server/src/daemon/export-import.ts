import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { listStored } from '@holt/engine-host'
import { BuildPaths } from '../builds/paths.ts'
import type { ServerConfig } from '../foundation/config/config.ts'
import { releaseLock, takeLock } from '../foundation/config/daemon-lock.ts'
import { writeStoreId } from '../foundation/config/store-file.ts'
import { aloneWithService } from '../foundation/store/alone.ts'
import { openStore, storePlace } from '../foundation/store/open-store.ts'
import { storeIdOf } from '../foundation/store/store-id.ts'
import { exportStore, type Imported, importStore } from '../foundation/store/transfer/transfer.ts'
import { countMissing, findMissing, type Missing } from '../runtimes/reconcile/find-missing.ts'

/** The file name for the standard streams. */
const standard = '-'

/**
 * Writes the store to a file of mode 0600, or to stdout. The daemon may run. A file appears only
 * when it is complete. An existing file is refused, unless `force` allows its replacement.
 */
export async function exportTo(config: ServerConfig, file: string, { force = false } = {}): Promise<void> {
  if (file !== standard && !force && existsSync(file))
    throw new Error(`${file} exists already and was kept: name another file, or use --force`)
  const lines = Readable.from(exportStore(storePlace(config), Date.now()))
  if (file === standard) return pipeline(lines, process.stdout, { end: false })
  const temporary = `${file}.${randomBytes(8).toString('hex')}.part`
  try {
    // `wx` refuses an existing file or link. Its mode would stay in force.
    await pipeline(lines, createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true }))
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** The result of an import, with counts of the missing files in the state directory. */
export interface ImportResult extends Imported {
  readonly missing: Readonly<Record<keyof Missing, number>>
}

/**
 * Fills the empty store of an installation from a file, or from stdin. The daemon must not run. A
 * refused import leaves nothing behind.
 */
export async function importFrom(
  config: ServerConfig,
  file: string,
  options: { readonly keepWebhooks?: boolean } = {},
): Promise<ImportResult> {
  const { stateDir, masterKeysFile } = config
  const made = await mkdir(stateDir, { recursive: true, mode: 0o700 })
  await takeLock(stateDir)
  try {
    const dump = file === standard ? process.stdin : createReadStream(file)
    const imported = await importStore(storePlace(config), { stateDir, masterKeysFile, dump, ...options })
    return { ...imported, missing: await settle(config) }
  } finally {
    await releaseLock(stateDir)
    if (made !== undefined) await rmdir(stateDir).catch(() => {}) // Imported files stay.
  }
}

/**
 * Copies the store of `from` to the empty place of `to`. Both have the same state directory, whose
 * lock the caller holds. Webhooks continue to send: the old store is not used any more. A refused
 * copy leaves nothing behind.
 */
export async function copyStore(from: ServerConfig, to: ServerConfig): Promise<ImportResult> {
  const dump = bytesOf(exportStore(storePlace(from), Date.now()))
  const imported = await importStore(storePlace(to), { ...to, dump, keepWebhooks: true })
  return { ...imported, missing: await settle(to) }
}

async function* bytesOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line)
}

/**
 * Returns the counts of missing files. A state directory without any files is bound to the store,
 * because the operator is told. The hosts of the dump are forgotten: the first service over the
 * store is its first host, and gets all rows. Unreferenced artifacts stay for another day, so that
 * a newer dump can still be imported.
 */
async function settle(config: ServerConfig): Promise<ImportResult['missing']> {
  const { stateDir } = config
  const store = await openStore(storePlace(config))
  try {
    await store.change(aloneWithService, async (changes) => {
      await changes.deleteFrom('hosts').execute()
      await changes.deleteFrom('duties').execute()
      await changes.updateTable('artifacts').set({ unneeded_since: null, condemned_at: null }).execute()
    })
    const { images, checkpoints } = await listStored(stateDir)
    const id = await storeIdOf(store.db)
    const isEmpty = images.length + checkpoints.length === 0 && !existsSync(new BuildPaths(stateDir).contexts)
    if (id !== null && isEmpty) await writeStoreId(stateDir, id)
    return countMissing(await findMissing(store.db, { images: new Set(images), checkpoints: new Set(checkpoints) }))
  } finally {
    await store.close()
  }
}
