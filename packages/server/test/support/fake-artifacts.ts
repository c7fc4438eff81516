import type { ArtifactDescription, ArtifactRef, Transfer } from '@holt/engine'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import { HoltError } from '@holt/protocol'
import type { Artifacts } from '../../src/artifacts/artifacts.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'

/** An artifact in a fake object store. */
interface StoredArtifact {
  readonly description: ArtifactDescription
  readonly files: ReadonlyMap<string, readonly Uint8Array[]>
}

/** The object store of a fleet in this process. */
export class FakeObjects {
  readonly stored = new Map<string, StoredArtifact>()
  /** True while nobody can reach it. */
  isDown = false
  /** True if the fleet has none: nothing is stored, and no upload fails. */
  isMissing = false
  /** Called when the objects of an artifact are there, and its row does not say so yet. */
  onNamed: (ref: ArtifactRef) => void | Promise<void> = () => {}
  /** The artifacts that hosts have fetched. */
  readonly fetched: string[] = []

  requireUp(): void {
    if (this.isDown) throw new HoltError('unavailable', 'The object store cannot be reached.')
  }
}

/** Returns the artifacts of a host that keeps them in a fake object store. */
export function fakeArtifacts(
  objects: FakeObjects,
  { hostId, engine, store }: { readonly hostId: string; readonly engine: FakeEngine; readonly store: Store },
): Artifacts {
  const transfer = engine.ability('transfer') as Transfer
  return {
    isShared: true,
    classId: transfer.classId,
    storedAmong: async (ids) => ids.filter((id) => objects.stored.has(id)),
    store: async (ref, signal) => {
      if (objects.isMissing) return
      const known = await store.db
        .selectFrom('artifacts')
        .select('state')
        .where('artifact_id', '=', ref.id)
        .executeTakeFirst()
      if (known?.state === 'stored') return
      objects.requireUp()

      const description = await transfer.describe(ref)
      const files = new Map<string, readonly Uint8Array[]>()
      for (const { name, sizeBytes } of description.files) {
        const range = { offset: 0, length: sizeBytes }
        files.set(name, await Array.fromAsync(await transfer.read(ref, name, range, signal)))
      }
      objects.stored.set(ref.id, { description, files })
      await objects.onNamed(ref)
      const at = Date.now()
      await store.db
        .insertInto('artifacts')
        .values({
          ...{ artifact_id: ref.id, kind: ref.kind, bytes: 1, class_id: description.classId, state: 'stored' },
          ...{ host_id: hostId, made_at: at, stored_at: at, unneeded_since: null, condemned_at: null },
        })
        .onConflict((conflict) => conflict.column('artifact_id').doUpdateSet({ state: 'stored', stored_at: at }))
        .execute()
    },
    fetch: async (ref, signal) => {
      if (await isHere(engine, ref)) return
      objects.requireUp()
      const found = objects.stored.get(ref.id)
      if (found === undefined) throw new HoltError('unavailable', `The object store has no ${ref.id}.`)
      objects.fetched.push(ref.id)
      await transfer.receive(
        found.description,
        async function* ({ name }) {
          yield* found.files.get(name) ?? []
        },
        signal,
      )
    },
  }
}

async function isHere(engine: FakeEngine, { kind, id }: ArtifactRef): Promise<boolean> {
  if (kind === 'image') return (await engine.ability('images')?.has(id as `sha256:${string}`)) === true
  return (await engine.ability('checkpoints')?.list())?.some(({ checkpointId }) => checkpointId === id) === true
}
