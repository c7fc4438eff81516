import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type ArtifactDescription,
  type ArtifactFile,
  bytesOf,
  descriptionDigest,
  EngineError,
  type ReadFile,
} from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import type { StoredManifest } from '../checkpoints/host-checkpoints.ts'
import { classIdOf, parseManifest } from '../checkpoints/manifest.ts'
import { checkRoom } from '../disks/room.ts'
import { hasCode, isThere } from '../files/durable-files.ts'
import { writeVerified } from '../files/write-verified.ts'
import type { Host } from '../host/host.ts'
import { receiveGuest } from '../host/install-guest.ts'

/** The name of the guest binary among the files of a checkpoint. */
const GUEST = 'guest'

/** The largest guest binary that is received, in bytes. It has about 10 MiB. */
const MAX_GUEST_BYTES = 256 * 2 ** 20

/** The parts of the engine that transfers of checkpoints need. */
export type CheckpointHost = Pick<Host, 'checkpoints' | 'layout'>

/** Returns the path of a file of a checkpoint, or null if it has no such file. */
export async function checkpointFilePath(
  { checkpoints, layout }: CheckpointHost,
  checkpointId: string,
  name: string,
): Promise<string | null> {
  const { manifest } = requireFound(checkpointId, await checkpoints.manifestOf(checkpointId))
  if (name === GUEST) return layout.guest(manifest.maker.guest)
  return manifest.files.some((file) => file.name === name) ? join(layout.checkpoint(checkpointId), name) : null
}

/** Returns the class of a checkpoint that is here. Kind `not_found`. */
export async function classOfCheckpoint({ checkpoints }: CheckpointHost, checkpointId: string): Promise<string> {
  return classIdOf(requireFound(checkpointId, await checkpoints.manifestOf(checkpointId)).manifest.maker)
}

/** Describes a checkpoint that is here. Kinds `not_found` and `damaged`. */
export async function describeCheckpoint(
  { checkpoints, layout }: CheckpointHost,
  checkpointId: string,
): Promise<ArtifactDescription> {
  const found = requireFound(checkpointId, await checkpoints.manifestOf(checkpointId))
  try {
    return descriptionOf(found, (await stat(layout.guest(found.manifest.maker.guest))).size)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    throw new EngineError('damaged', `the guest of checkpoint ${checkpointId} is not there`, { cause: error })
  }
}

/** Receives a checkpoint, and its guest unless that is here. See `Transfer.receive`. */
export async function receiveCheckpoint(
  { checkpoints, layout }: CheckpointHost,
  description: ArtifactDescription,
  read: ReadFile,
  signal: AbortSignal,
): Promise<void> {
  const stored = manifestIn(description)
  const { checkpointId, maker } = stored.manifest
  if ((await checkpoints.find(checkpointId)) !== null) return
  const hasGuest = await isThere(layout.guest(maker.guest))
  const missing = description.files.filter(({ name }) => name !== GUEST || !hasGuest)
  await checkRoom(layout.checkpoints, bytesOf(missing))
  const draft = await checkpoints.draftCopy(stored)
  try {
    for (const file of missing) {
      if (file.name === GUEST) await receiveGuest(layout, { file, read }, signal)
      else await writeVerified(join(draft.dir, file.name), { file, read }, signal)
    }
    await failpoint('host.files-received')
    await checkpoints.locks.run(checkpointId, async () => {
      if ((await checkpoints.find(checkpointId)) === null) await draft.publish()
    })
  } finally {
    // A published draft has another name.
    await draft.discard()
  }
}

function requireFound(checkpointId: string, found: StoredManifest | null): StoredManifest {
  if (found === null) throw new EngineError('not_found', `there is no checkpoint ${checkpointId}`)
  return found
}

/** The manifest travels as its exact text, so every host describes the checkpoint in one way. */
function descriptionOf({ manifest, text }: StoredManifest, guestBytes: number): ArtifactDescription {
  const { checkpointId, imageDigest, maker } = manifest
  const files = manifest.files.map(
    ({ name, sizeBytes, digest }): ArtifactFile => ({ name, sizeBytes, digest: `sha256-mib:${digest}` }),
  )
  return {
    ref: { kind: 'checkpoint', id: checkpointId },
    files: [...files, { name: GUEST, sizeBytes: guestBytes, digest: `sha256:${maker.guest}` }],
    classId: classIdOf(maker),
    imageDigest,
    details: text,
  }
}

/** Returns the manifest in a description that agrees with all the rest of it. */
function manifestIn(description: ArtifactDescription): StoredManifest {
  const { ref, files, details } = description
  const manifest = parseManifest(details)
  if (manifest === null)
    throw new EngineError('incompatible', `the manifest of checkpoint ${ref.id} is not one of this version`)
  const stored = { manifest, text: details }
  const guestBytes = files.at(-1)?.sizeBytes ?? 0
  if (descriptionDigest(descriptionOf(stored, guestBytes)) !== descriptionDigest(description))
    throw new EngineError('invalid', `the description of checkpoint ${ref.id} does not match its manifest`)
  if (guestBytes > MAX_GUEST_BYTES) throw new EngineError('invalid', `the guest of checkpoint ${ref.id} is too large`)
  return stored
}
