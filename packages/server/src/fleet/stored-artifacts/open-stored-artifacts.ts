import * as zlib from 'node:zlib'
import { type ObjectStore, openObjectStore } from '@holt/object-store'
import type { ObjectStoreConfig } from '../../foundation/config/object-store-settings.ts'
import { readArtifactKeys } from './artifact-keys.ts'
import { StoredArtifacts } from './stored-artifacts.ts'

/** The object store of a fleet. */
export interface OpenStoredArtifacts {
  readonly objects: ObjectStore
  readonly artifacts: StoredArtifacts
}

/** Opens the object store of the settings. Nothing is asked of it yet. */
export async function openStoredArtifacts(
  { url, artifactKey }: ObjectStoreConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OpenStoredArtifacts> {
  if (!('zstdCompress' in zlib)) throw new Error('a host of a fleet needs Node 22.15 or newer, which has zstd')
  const objects = openObjectStore(url, { env })
  return { objects, artifacts: new StoredArtifacts(objects, await readArtifactKeys(artifactKey)) }
}
