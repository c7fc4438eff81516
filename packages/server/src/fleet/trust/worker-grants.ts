import type { CreateRuntime } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { secretOf } from '../../resources/secrets/find-secret.ts'
import { heldSecrets } from '../../resources/secrets/held-secrets.ts'
import type { ErrandParts } from './worker-errands.ts'

/** The time for which a grant is written, in milliseconds. A front that dies renews none. */
const grantedMs = 2 * 60_000

/** The interval at which a grant is written again while a front waits for the worker. */
const renewedMs = grantedMs / 4

/** The subjects that a worker is granted: secrets, and a runtime whose programs it continues. */
interface Granted {
  readonly hostId: string
  readonly projectId: string
  readonly subjects: readonly string[]
}

const nothingGranted: Disposable = { [Symbol.dispose]: () => {} }

/**
 * The secrets that workers may give to their runtimes, in the database. Also the runtimes of other
 * hosts whose programs a worker continues. A front grants them while it waits for the worker. The
 * role of a worker gives its runtimes only granted secrets of their project, and those of their
 * parents on the worker.
 */
export class WorkerGrants {
  readonly #parts: ErrandParts

  constructor(parts: ErrandParts) {
    this.#parts = parts
  }

  /**
   * Grants a worker the secrets that a create names, until the result is disposed of. Does nothing
   * for any other host.
   */
  async noteCreate(
    hostId: string,
    projectId: string,
    { secrets }: Pick<CreateRuntime, 'secrets'>,
  ): Promise<Disposable> {
    if (!this.#parts.isWorker(hostId)) return nothingGranted
    const found = await Promise.all(secrets.map((name) => secretOf(this.#parts.store.db, projectId, name)))
    // A missing secret is told by the worker, in its refusal of the create.
    const subjects = found.flatMap((secret) => secret?.secret_id ?? [])
    return this.#keep({ hostId, projectId, subjects })
  }

  /**
   * Lets a worker continue the programs of another host's runtime, with the secrets of that
   * runtime, until the result is disposed of. Does nothing for any other host.
   */
  async noteRuntime(hostId: string, ref: RuntimeRef): Promise<Disposable> {
    if (!this.#parts.isWorker(hostId)) return nothingGranted
    const held = await heldSecrets(this.#parts.store.db, ref)
    const subjects = [ref.runtimeId, ...held.map(({ secret_id }) => secret_id)]
    return this.#keep({ hostId, projectId: ref.projectId, subjects })
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

  /** Grants subjects, and renews the grants. Two fronts may grant the same: none is taken back. */
  async #keep(granted: Granted): Promise<Disposable> {
    if (granted.subjects.length === 0) return nothingGranted
    await this.#grant(granted)
    // A renewal that fails is made up for by the next one.
    const timer = setInterval(() => void this.#grant(granted).catch(() => {}), renewedMs).unref()
    return { [Symbol.dispose]: () => clearInterval(timer) }
  }

  async #grant({ hostId, projectId, subjects }: Granted): Promise<void> {
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
