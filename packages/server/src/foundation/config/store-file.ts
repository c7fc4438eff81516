import { join } from 'node:path'
import { readIfThere } from './installation.ts'
import { writeDurably } from './write-durably.ts'

/**
 * Returns the id of the store that a state directory belongs to; null if it is not known yet. The
 * file is in the state directory, so that a copy of the directory has it as well.
 */
export async function readStoreId(stateDir: string): Promise<string | null> {
  const text = await readIfThere(pathOf(stateDir))
  return /^\{"id":"([a-z0-9]{20})"\}\n$/.exec(text ?? '')?.[1] ?? null
}

/** Stores the id of the store that the state directory belongs to. */
export async function writeStoreId(stateDir: string, id: string): Promise<void> {
  await writeDurably(pathOf(stateDir), `${JSON.stringify({ id })}\n`)
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'store.json')
}
