import type { CreateRuntime } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { secretOf } from '../../resources/secrets/find-secret.ts'
import { heldSecrets } from '../../resources/secrets/held-secrets.ts'
import type { ErrandParts } from './worker-errands.ts'

/** The time in which a worker uses a grant, in milliseconds. It may fetch an image first. */
const grantedMs = 60 * 60_000

/**
 * The secrets that workers may give to their runtimes, in the database. Also the runtimes of other
 * hosts whose programs a worker continues. A front grants them. The role of a worker gives its
 * runtimes only granted secrets, and those of its other runtimes.
 */
export class WorkerGrants {
  readonly #parts: ErrandParts

  constructor(parts: ErrandParts) {
    this.#parts = parts
  }

  /** Grants a worker the secrets that a create names. Does nothing for any other host. */
  async noteCreate(hostId: string, projectId: string, { secrets }: Pick<CreateRuntime, 'secrets'>): Promise<void> {
    if (!this.#parts.isWorker(hostId)) return
    const found = await Promise.all(secrets.map((name) => secretOf(this.#parts.store.db, projectId, name)))
    await this.#grant(
      { hostId, projectId },
      // A missing secret is told by the worker, in its refusal of the create.
      found.flatMap((secret) => secret?.secret_id ?? []),
    )
  }

  /**
   * Lets a worker continue the programs of another host's runtime, with the secrets of that
   * runtime. Does nothing for any other host.
   */
  async noteRuntime(hostId: string, ref: RuntimeRef): Promise<void> {
    if (!this.#parts.isWorker(hostId)) return
    const held = await heldSecrets(this.#parts.store.db, ref)
    const subjects = [ref.runtimeId, ...held.map(({ secret_id }) => secret_id)]
    await this.#grant({ hostId, projectId: ref.projectId }, subjects)
  }

  /** Returns true if a host continues the programs of another host's runtime. */
  async hasRuntime(hostId: string, { projectId, runtimeId }: RuntimeRef): Promise<boolean> {
    const { store, now } = this.#parts
    const row = await store.db
      .selectFrom('worker_grants')
      .select('ends_at')
      .where('host_id', '=', hostId)
      .where('subject_id', '=', runtimeId)
      .where('project_id', '=', projectId)
      .executeTakeFirst()
    return row !== undefined && row.ends_at > now()
  }

  async #grant(
    { hostId, projectId }: { readonly hostId: string; readonly projectId: string },
    subjects: readonly string[],
  ): Promise<void> {
    const { store, now } = this.#parts
    const facts = { host_id: hostId, project_id: projectId, ends_at: now() + grantedMs }
    for (const subject_id of new Set(subjects))
      await store.db
        .insertInto('worker_grants')
        .values({ ...facts, subject_id })
        .onConflict((conflict) => conflict.columns(['host_id', 'subject_id']).doUpdateSet(facts))
        .execute()
  }
}
