import type { OnTimeout, RuntimeState, SnapshotKind, SnapshotState, Template } from '@holt/protocol'
import type { Generated, Insertable, Selectable } from 'kysely'
import type {
  BuildCacheTable,
  BuildContextsTable,
  BuildLogsTable,
  BuildMountsTable,
  BuildResourcesTable,
  BuildsTable,
  PulledImagesTable,
} from './build-tables.ts'
import type {
  AuditTable,
  EventsTable,
  LogPositionsTable,
  WebhookDeliveriesTable,
  WebhooksTable,
} from './event-tables.ts'

// Times are milliseconds since 1970 UTC. Columns named `_json` hold JSON text. `seq` orders rows by
// when they were made.

/** Whom everything belongs to. */
interface ProjectsTable {
  readonly project_id: string
  readonly name: string
  /** The quotas that are not the settings': `StoredQuotas`. */
  readonly quotas_json: Generated<string>
  readonly created_at: number
  readonly updated_at: Generated<number>
  /** One that was deleted stays for its events, without its name. */
  readonly deleted_at: number | null
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
  /** Of the secret: 1, and one more with each rotation. */
  readonly version: Generated<number>
  /** The request that rotated it last, so that it is known when it is repeated. */
  readonly rotation_id: string | null
  readonly rotated_at: number | null
  /** The secret before, which opens the service until then. */
  readonly previous_digest: string | null
  readonly previous_until: number | null
}

/**
 * Templates. `seed_id` is the runtime that a build boots to take a checkpoint of; it is written
 * before the runtime exists.
 */
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
  readonly start_cmd: string | null
  readonly ready_cmd: string | null
  readonly on_restore: string | null
  /** The newest build of it. */
  readonly build_id: string | null
  readonly ignored_json: Generated<string>
  readonly ports_json: Generated<string>
  readonly labels_json: Generated<string>
  /** What a build on top of it begins with; null: what its runtimes have. */
  readonly build_settings_json: string | null
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
  /** What it has of what it was made from, whatever becomes of that: `SourceSettings`. */
  readonly source_json: string
  /** What is decided of ports, by port: `{generation, public}`. */
  readonly ports_json: Generated<string>
  readonly timeout_secs: number | null
  readonly on_timeout: OnTimeout
  readonly idle_timeout_secs: number | null
  /** 1 where a request resumes it while it is paused. */
  readonly auto_resume: Generated<number>
  /**
   * The checkpoint that a pause writes, from before it is begun until the resume after it has
   * ended.
   */
  readonly pause_checkpoint_id: string | null
  readonly paused_at: number | null
  readonly snapshot_id: string | null
  readonly parent_id: string | null
  /** The id that its create was given, where it got one of a pool. */
  readonly creation_id: string | null
  readonly expires_at: number | null
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly updated_at: number
  readonly revision: number
}

/**
 * Snapshots. One of memory has a checkpoint, one of files an image of its own; `settings_json` is
 * what runtimes of it begin with.
 */
interface SnapshotsTable {
  readonly seq: Generated<number>
  readonly snapshot_id: string
  readonly project_id: string
  readonly name: string | null
  readonly kind: SnapshotKind
  readonly state: SnapshotState
  readonly state_reason_json: string | null
  readonly runtime_id: string
  readonly template_id: string
  readonly template_name: string
  readonly isolation: 'gvisor' | 'container'
  readonly image_digest: string
  readonly checkpoint_id: string | null
  readonly cpu: number
  readonly memory_mib: number
  readonly disk_mib: number
  readonly size_bytes: number | null
  readonly settings_json: string
  readonly created_at: number
}

/**
 * Runtimes that wait to be somebody's. A row is there before the runtime is, and goes in the
 * transaction that makes it a project's.
 */
interface PoolMembersTable {
  readonly runtime_id: string
  readonly template_id: string
  readonly isolation: 'gvisor' | 'container'
  readonly image_digest: string
  readonly checkpoint_id: string | null
  readonly cpu: number
  readonly memory_mib: number
  readonly disk_mib: number
  readonly state: 'making' | 'ready'
  readonly created_at: number
}

/** Answers to POSTs with an `Idempotency-Key`. `status` is null while the first request runs. */
interface IdempotencyTable {
  readonly project_id: string
  readonly idempotency_key: string
  /** The API key that asked first; null where an earlier version wrote the row. */
  readonly key_id: string | null
  readonly fingerprint: string
  readonly resource_id: string
  readonly status: number | null
  readonly body: string | null
  readonly created_at: number
}

/** Stored network policies. */
interface PoliciesTable {
  readonly seq: Generated<number>
  readonly policy_id: string
  readonly project_id: string
  readonly name: string
  readonly body_json: string
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
}

/** Where the values of secrets come from; what is secret of a provider is sealed elsewhere. */
interface ProvidersTable {
  readonly seq: Generated<number>
  readonly provider_id: string
  readonly project_id: string
  readonly name: string
  readonly settings_json: string
  readonly version: number
  readonly created_at: number
  readonly updated_at: number
}

/**
 * Secrets without their values. One that is deleted stays for as long as a runtime has it, so that
 * what carries its placeholder is known and refused.
 */
interface SecretsTable {
  readonly seq: Generated<number>
  readonly secret_id: string
  readonly project_id: string
  readonly name: string
  readonly version: number
  readonly provider_id: string | null
  readonly hosts_json: string
  readonly header: string | null
  readonly format: string | null
  /** 1 where the real value is put into runtimes. */
  readonly inside: number
  readonly env_name: string
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

/**
 * The public halves of the keys that tokens are signed with. They are the service's own, of no
 * project.
 */
interface SigningKeysTable {
  readonly seq: Generated<number>
  readonly kid: string
  readonly algorithm: string
  readonly public_jwk_json: string
  readonly created_at: number
}

/**
 * Everything that must not be readable in this file, encrypted: one row for each value.
 * `project_id` is null where it is the service's own.
 */
interface SealedValuesTable {
  readonly owner_id: string
  readonly purpose: string
  readonly project_id: string | null
  readonly version: number
  readonly master_key_id: string
  readonly sealed: string
}

/** A runtime's way out: a stored policy, one of its own, or none any more (both null). */
interface RuntimeNetworksTable {
  readonly runtime_id: string
  readonly project_id: string
  readonly policy_id: string | null
  readonly inline_json: string | null
  readonly ca_certificate: string
  /** 1 where the guest has been told of its network. */
  readonly guest_has_it: number
  readonly updated_at: number
}

/** Which secrets a runtime has. `placeholder` is null where the value itself is inside. */
interface RuntimeSecretsTable {
  readonly runtime_id: string
  readonly project_id: string
  readonly secret_id: string
  readonly placeholder: string | null
  readonly position: number
}

/**
 * The synthetic addresses that a runtime's names were handed out as, so that they mean the same
 * after a restart.
 */
interface RuntimeAddressesTable {
  readonly seq: Generated<number>
  readonly runtime_id: string
  readonly address: string
  readonly name: string
}

/**
 * What runtimes tried to reach: the newest of each. A gap between two cursors is what was dropped.
 */
interface DecisionsTable {
  readonly runtime_id: string
  readonly cursor: number
  readonly project_id: string
  readonly item_json: string
}

/** What is known of the store itself. */
interface StoreFactsTable {
  /**
   * `id`: which store this is, the same in `store.json` of the state directory that belongs to it.
   * `clock`: the id of a boot, and by how many milliseconds the wall clock that deadlines agree
   * with was ahead of the host's own in that (`BOOT OFFSET`).
   */
  readonly name: 'id' | 'clock'
  readonly value: string
}

/** Every table. */
export interface Tables {
  readonly projects: ProjectsTable
  readonly keys: KeysTable
  readonly templates: TemplatesTable
  readonly runtimes: RuntimesTable
  readonly snapshots: SnapshotsTable
  readonly pool_members: PoolMembersTable
  readonly events: EventsTable
  readonly log_positions: LogPositionsTable
  readonly webhooks: WebhooksTable
  readonly webhook_deliveries: WebhookDeliveriesTable
  readonly audit: AuditTable
  readonly idempotency: IdempotencyTable
  readonly policies: PoliciesTable
  readonly providers: ProvidersTable
  readonly secrets: SecretsTable
  readonly signing_keys: SigningKeysTable
  readonly sealed_values: SealedValuesTable
  readonly runtime_networks: RuntimeNetworksTable
  readonly runtime_secrets: RuntimeSecretsTable
  readonly runtime_addresses: RuntimeAddressesTable
  readonly decisions: DecisionsTable
  readonly builds: BuildsTable
  readonly build_logs: BuildLogsTable
  readonly build_resources: BuildResourcesTable
  readonly build_contexts: BuildContextsTable
  readonly build_cache: BuildCacheTable
  readonly build_mounts: BuildMountsTable
  readonly pulled_images: PulledImagesTable
  readonly store_facts: StoreFactsTable
}

/** A project as stored. */
export type ProjectRow = Selectable<ProjectsTable>
/** A key as stored. */
export type KeyRow = Selectable<KeysTable>
/** A template as stored. */
export type TemplateRow = Selectable<TemplatesTable>
/** A runtime as stored. */
export type RuntimeRow = Selectable<RuntimesTable>
/** A snapshot as stored. */
export type SnapshotRow = Selectable<SnapshotsTable>
/** A runtime of a pool as stored. */
export type PoolMemberRow = Selectable<PoolMembersTable>
/** A policy as stored. */
export type PolicyRow = Selectable<PoliciesTable>
/** A provider as stored. */
export type ProviderRow = Selectable<ProvidersTable>
/** A secret as stored. */
export type SecretRow = Selectable<SecretsTable>
/** A signing key as stored. */
export type SigningKeyRow = Selectable<SigningKeysTable>
/** A sealed value as stored. */
export type SealedValueRow = Selectable<SealedValuesTable>
/** A runtime's way out as stored. */
export type RuntimeNetworkRow = Selectable<RuntimeNetworksTable>
/** A runtime to store. */
export type NewRuntimeRow = Insertable<RuntimesTable>
