import { randomUUID } from 'node:crypto'
import type { ObjectStore } from '@holt/object-store'
import type { ObjectStoreConfig } from '../../foundation/config/object-store-settings.ts'
import { openStoredArtifacts } from './open-stored-artifacts.ts'

/** Writes, reads, lists and deletes an object. Returns the first problem; null if there is none. */
export async function tryObjectStore(
  settings: ObjectStoreConfig,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<{ readonly problem: string | null }> {
  try {
    const { objects } = await openStoredArtifacts(settings, env)
    try {
      await tryVerbs(objects, signal)
    } finally {
      objects.close()
    }
    return { problem: null }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'no reason is known' }
  }
}

async function tryVerbs(objects: ObjectStore, signal: AbortSignal): Promise<void> {
  const key = `checks/${randomUUID()}`
  const written = Buffer.from(`check ${key}`)
  await objects.put(key, written, { ifAbsent: true, signal })
  try {
    const { body } = await objects.get(key, { signal })
    if (!Buffer.concat(await fromAsync(body)).equals(written))
      throw new Error('it returns other bytes than were written')
    for await (const _ of objects.list('checks/', { signal })) break
  } finally {
    await objects.delete(key, { signal })
  }
}

async function fromAsync(pieces: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return all
}
