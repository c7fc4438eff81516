import type { RuntimeState, Template } from '@holt/protocol'
import type { Generated, Insertable, Selectable } from 'kysely'

// Times are milliseconds since 1970 UTC. Columns named `_json` hold JSON text. `seq` orders rows by when they were made.

/** Whom everything belongs to. */
interface ProjectsTable {
  readonly project_id: string
  readonly name: string
  readonly created_at: number
}

/** API keys, by the SHA-256 digest of their secret. */
interface KeysTable {
  readonly seq: Generated<number>
  readonly key_id: string
  readonly project_id: string
  readonly name: string
  readonly prefix: string
  readonly digest: string
  readonly scopes_json: string
  readonly expires_at: number | null
  readonly revoked_at: number | null
  readonly created_at: number
  readonly last_used_at: number | null
}

/** Templates. `seed_id` is the runtime that a build boots to take a checkpoint of; it is written before the runtime exists. */
export interface TemplatesTable {
  readonly seq: Generated<number>
  readonly template_id: string
  readonly project_id: string
  readonly name: string
  readonly tag: string
  readonly kind: Template['kind']
  readonly state: Template['state']
  readonly state_reason_json: string | null
  readonly source: string
  readonly recipe_digest: string | null
  readonly image_digest: string | null
  readonly checkpoint_id: string | null
  readonly seed_id: string | null
  readonly cpu: number
  readonly memory_mib: number
  readonly disk_mib: number
  readonly size_bytes: number | null
  readonly env_json: string
  readonly user: string
  readonly workdir: string
  readonly facts_json: string
  readonly created_at: number
  readonly updated_at: number
  readonly revision: number
}

/** Runtimes, and for 7 days those that have ended. */
interface RuntimesTable {
  readonly seq: Generated<number>
  readonly runtime_id: string
  readonly project_id: string
  readonly name: string | null
  readonly state: RuntimeState
  readonly state_reason_json: string | null
  readonly template_id: string
  readonly template_name: string
  readonly image_digest: string
  readonly checkpoint_id: string | null
  readonly isolation: 'gvisor' | 'container'
  readonly cpu: number
  readonly memory_mib: number
  readonly disk_mib: number
  readonly env_json: string
  readonly metadata_json: string
  readonly user: string
  readonly workdir: string
  readonly timeout_secs: number | null
  readonly on_timeout: 'terminate'
  readonly expires_at: number | null
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly updated_at: number
  readonly revision: number
}

/** What happened, in order. */
interface EventsTable {
  readonly seq: Generated<number>
  readonly event_id: string
  readonly project_id: string
  readonly type: string
  readonly subject_id: string
  readonly data_json: string
  readonly at: number
}

/** Answers to POSTs with an `Idempotency-Key`. `status` is null while the first request runs. */
interface IdempotencyTable {
  readonly project_id: string
  readonly idempotency_key: string
  readonly fingerprint: string
  readonly resource_id: string
  readonly status: number | null
  readonly body: string | null
  readonly created_at: number
}

/** Every table. */
export interface Tables {
  readonly projects: ProjectsTable
  readonly keys: KeysTable
  readonly templates: TemplatesTable
  readonly runtimes: RuntimesTable
  readonly events: EventsTable
  readonly idempotency: IdempotencyTable
}

/** A key as stored. */
export type KeyRow = Selectable<KeysTable>
/** A template as stored. */
export type TemplateRow = Selectable<TemplatesTable>
/** A runtime as stored. */
export type RuntimeRow = Selectable<RuntimesTable>
/** A runtime to store. */
export type NewRuntimeRow = Insertable<RuntimesTable>
