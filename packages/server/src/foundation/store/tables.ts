import type { OnTimeout, RuntimeState, SnapshotKind, SnapshotState, Template } from '@holt/protocol'
import type { Generated, Insertable, Selectable } from 'kysely'
import type {
  ArtifactHoldsTable,
  ArtifactsTable,
  ArtifactTrashTable,
  TemplateCheckpointsTable,
  TemplateRetakesTable,
} from './artifact-tables.ts'
import type {
  BuildCacheTable,
  BuildContextsTable,
  BuildLogsTable,
  BuildMountsTable,
  BuildNotesTable,
  BuildRequestsTable,
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
// their creation.

/** Projects. They own everything that does not belong to the service itself. */
interface ProjectsTable {
  readonly project_id: string
  readonly name: string
  /** The quotas that replace the defaults of the settings (`StoredQuotas`). */
  readonly quotas_json: Generated<string>
  readonly created_at: number
  readonly updated_at: Generated<number>
  /** The time of deletion. A deleted project stays for its events, without its name. */
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
  /** The version of the secret: 1, and one more with each rotation. */
  readonly version: Generated<number>
  /** The request that rotated the secret last. A repeat of it is recognised by this. */
  readonly rotation_id: string | null
  readonly rotated_at: number | null
  /** The previous secret's digest. That secret stays valid until `previous_until`. */
  readonly previous_digest: string | null
  readonly previous_until: number | null
  /**
   * The last time at which the tokens of E2B's clients ended with a secret of the key. Null: never.
   */
  readonly tokens_ended_at: Generated<number | null>
}

/** The sessions of the console, by the SHA-256 digest of their token. */
interface ConsoleSessionsTable {
  readonly digest: string
  readonly project_id: string
  readonly key_id: string
  /** The version of the key's secret. The session ends with it. */
  readonly key_version: number
  readonly created_at: number
  readonly expires_at: number
}

/**
 * Templates. `seed_id` is the runtime from which an earlier version of Holt took the checkpoint of
 * a base template. New rows have none.
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
  /** The newest build of the template. */
  readonly build_id: string | null
  readonly ignored_json: Generated<string>
  readonly ports_json: Generated<string>
  readonly labels_json: Generated<string>
  /** The settings with which a build on top of the template begins; null: those of its runtimes. */
  readonly build_settings_json: string | null
  /**
   * The parts of the build with which its checkpoint can be taken again (`CheckpointRecipe`). Null
   * for a template of Holt's base, and for one that an earlier version built.
   */
  readonly checkpoint_recipe_json: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly revision: number
}

/** Runtimes. Ended runtimes stay for 7 days. */
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
  /**
   * The settings from the runtime's source (`SourceSettings`). Later changes of the source do not
   * affect them.
   */
  readonly source_json: string
  /** The settings of ports, by port: `{generation, public}`. */
  readonly ports_json: Generated<string>
  readonly timeout_secs: number | null
  readonly on_timeout: OnTimeout
  readonly idle_timeout_secs: number | null
  /** 1 if a request resumes the runtime while it is paused. */
  readonly auto_resume: Generated<number>
  /**
   * The checkpoint of a pause. It is set before the pause begins, and until the next resume has
   * ended. A paused runtime without one has its files alone, in `image_digest`.
   */
  readonly pause_checkpoint_id: string | null
  /** The parts that a pause keeps which no request names: at the deadline, or when idle. */
  readonly pause_kind: Generated<SnapshotKind>
  /**
   * The image of the runtime's source, if `image_digest` is one of the runtime's own files. A pause
   * of the files alone writes such an image.
   */
  readonly origin_image_digest: Generated<string | null>
  readonly paused_at: number | null
  readonly snapshot_id: string | null
  readonly parent_id: string | null
  /** The id that the create request had reserved, if the runtime came from a pool. */
  readonly creation_id: string | null
  /** The key whose request made the runtime. Null for runtimes of earlier versions. */
  readonly made_by_key_id: string | null
  /** The generation of the access tokens that E2B's clients get. Earlier tokens open nothing. */
  readonly token_generation: Generated<number>
  /** The settings of a runtime that a client of E2B made (`SandboxSettings`); null for others. */
  readonly e2b_json: string | null
  /** The label of runtimes of the project that are kept on different hosts. Null: none. */
  readonly spread: Generated<string | null>
  readonly expires_at: number | null
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly updated_at: number
  readonly revision: number
  /** The host that may act on the runtime, and its epoch. Null: no host, because it has ended. */
  readonly host_id: string | null
  readonly host_epoch: number | null
  /** The host with a copy of the checkpoint of a paused runtime that no host owns. */
  readonly near_host_id: string | null
}

/**
 * Snapshots. A snapshot of memory has a checkpoint, and a snapshot of files has an image of its
 * own. `settings_json` holds the settings with which its runtimes begin.
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
  /** 1 if the memory has a record of the files; null for snapshots of files, and for old ones. */
  readonly record_files: number | null
  readonly cpu: number
  readonly memory_mib: number
  readonly disk_mib: number
  readonly size_bytes: number | null
  readonly settings_json: string
  readonly created_at: number
  /** The host that writes the snapshot, on whose disk it is, and its epoch then. */
  readonly host_id: string | null
  readonly host_epoch: number | null
}

/**
 * The runtimes that wait for a claim. A row is written before its runtime exists. It is deleted in
 * the transaction that assigns the runtime to a project.
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
  /** The host that has the member, and its epoch. */
  readonly host_id: string | null
  readonly host_epoch: number | null
}

/**
 * Idempotency records: the answers to POSTs with an `Idempotency-Key`. `status` is null while the
 * first request runs.
 */
interface IdempotencyTable {
  readonly project_id: string
  readonly idempotency_key: string
  /** The API key of the first request; null if an earlier version wrote the row. */
  readonly key_id: string | null
  readonly fingerprint: string
  readonly resource_id: string
  readonly status: number | null
  readonly body: string | null
  readonly created_at: number
  /** The host that runs the request, or ran it; null if an earlier version wrote the row. */
  readonly runner_host: string | null
  readonly runner_epoch: number | null
  /** One more each time that a host of a fleet runs the request again. */
  readonly run: Generated<number>
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

/** The sources of the values of secrets. The secret settings of a provider are sealed elsewhere. */
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
 * Secrets without their values. A deleted secret stays while a runtime has it, so that its
 * placeholder is recognised and refused.
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
  /** 1 if the real value is put into runtimes. */
  readonly inside: number
  readonly env_name: string
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

/**
 * The public keys for the tokens that the service signs. They belong to the service, not to a
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
 * The encrypted values: everything that must not be readable in this file, one row for each value.
 * `project_id` is null if the value belongs to the service itself.
 */
interface SealedValuesTable {
  readonly owner_id: string
  readonly purpose: string
  readonly project_id: string | null
  readonly version: number
  readonly master_key_id: string
  readonly sealed: string
}

/**
 * The network policies of runtimes: a stored policy or an inline one. Both are null if the runtime
 * no longer has one.
 */
interface RuntimeNetworksTable {
  readonly runtime_id: string
  readonly project_id: string
  readonly policy_id: string | null
  readonly inline_json: string | null
  readonly ca_certificate: string
  /** 1 if the guest has received its network settings. */
  readonly guest_has_it: number
  readonly updated_at: number
}

/** The secrets of runtimes. `placeholder` is null if the value itself is inside. */
interface RuntimeSecretsTable {
  readonly runtime_id: string
  readonly project_id: string
  readonly secret_id: string
  readonly placeholder: string | null
  readonly position: number
}

/**
 * The synthetic addresses that stand for names in a runtime. They mean the same names after a
 * restart.
 */
interface RuntimeAddressesTable {
  readonly seq: Generated<number>
  readonly runtime_id: string
  readonly address: string
  readonly name: string
}

/**
 * Connections that runtimes attempted, the newest of each runtime. A gap between two cursors stands
 * for dropped rows.
 */
interface DecisionsTable {
  readonly runtime_id: string
  readonly cursor: number
  readonly project_id: string
  readonly item_json: string
}

/** Hosts: the machines that serve this store. A machine that is in no fleet is the only one. */
interface HostsTable {
  readonly host_id: string
  /**
   * One more with each start of its service in a fleet, and with each verdict against it. A row of
   * an earlier epoch is not this one's.
   */
  readonly epoch: number
  /** The number of beats in this epoch. */
  readonly beat: number
  readonly state: HostState
  readonly wanted: HostWish
  /** The address at which other hosts reach it: `10.1.2.3:4659`. Empty: none. */
  readonly address: string
  /** The class of the checkpoints that it can restore; null: unknown. */
  readonly class_id: string | null
  /** The versions of the protocol between hosts that it speaks. 0: it is in no fleet. */
  readonly protocol_min: number
  readonly protocol_max: number
  readonly version: string
  /** The ids of its master keys, separated by commas. */
  readonly key_ids: string
  /**
   * A boot of the host, and the lead of the wall clock over the host's own clock in that boot, in
   * milliseconds. Deadlines of its runtimes agree with that wall clock. Null: not stored yet.
   */
  readonly boot_id: string
  readonly clock_offset: number | null
  readonly facts_json: string
  /** The name of its Node of Kubernetes. A front sets that of a worker. Null: it has none. */
  readonly node: string | null
  readonly zone: string | null
  /** 1: it is cordoned or drained because its Node is. */
  readonly follows_node: Generated<number>
  /**
   * The time at which runtimes that cannot move end, while the host drains. Null: there is none.
   */
  readonly drain_until: Generated<number | null>
  /** The trust of the other hosts in it. A front sets that of a worker. */
  readonly trust: Generated<'entry' | 'worker'>
  /** The public key of a worker: SPKI in base64. Null for an entry. */
  readonly public_key: Generated<string | null>
  readonly joined_at: number
  readonly seen_at: number
}

/** The tokens with which workers join the fleet. A used or revoked token has no row. */
interface JoinTokensTable {
  readonly token_id: string
  /** The SHA-256 of the secret, in hex. */
  readonly digest: string
  /** 1 if the first join uses the token up. */
  readonly is_single_use: number
  readonly created_at: number
  readonly expires_at: number
  /** The number of joins with it. */
  readonly uses: number
}

/** The host that does each duty of the fleet. Its holder increments `turn`. */
interface DutiesTable {
  readonly name: string
  readonly host_id: string
  readonly host_epoch: number
  readonly turn: number
}

/** The projects that a worker serves: fronts have sent it requests for them, until `ends_at`. */
interface WorkerErrandsTable {
  readonly host_id: string
  readonly project_id: string
  readonly ends_at: number
}

/** The paused runtimes without an owner that a worker may take, until `ends_at`. */
interface WorkerOffersTable {
  readonly runtime_id: string
  readonly host_id: string
  readonly ends_at: number
}

/** A secret that a worker may use, or a runtime that it continues, until `ends_at`. */
interface WorkerGrantsTable {
  readonly host_id: string
  /** The id of the secret or the runtime. */
  readonly subject_id: string
  readonly project_id: string
  readonly ends_at: number
}

/** The facts of runtimes that every host needs, also of those of other hosts. A view. */
type KnownRuntimesView = Pick<
  RuntimesTable,
  | 'runtime_id'
  | 'project_id'
  | 'name'
  | 'state'
  | 'image_digest'
  | 'origin_image_digest'
  | 'checkpoint_id'
  | 'pause_checkpoint_id'
  | 'cpu'
  | 'memory_mib'
  | 'disk_mib'
  | 'auto_resume'
  | 'host_id'
  | 'host_epoch'
  | 'near_host_id'
>

/** The facts of keys by which vouched callers are known to be valid. A view. */
type KnownKeysView = Pick<
  KeysTable,
  'key_id' | 'project_id' | 'version' | 'previous_until' | 'revoked_at' | 'expires_at'
>

/** Facts about the store itself. */
interface StoreFactsTable {
  /**
   * `id`: the identity of this store, which equals that in `store.json` of its state directory.
   * `clock`: what earlier versions stored of the host's clocks. `hosts` has that now.
   */
  readonly name: 'id' | 'clock' | 'objects_audited_at'
  readonly value: string
}

/** Every table, and every view. */
export interface Tables {
  readonly projects: ProjectsTable
  readonly keys: KeysTable
  readonly console_sessions: ConsoleSessionsTable
  readonly join_tokens: JoinTokensTable
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
  readonly build_requests: BuildRequestsTable
  readonly build_resources: BuildResourcesTable
  readonly build_contexts: BuildContextsTable
  readonly build_notes: BuildNotesTable
  readonly build_cache: BuildCacheTable
  readonly build_mounts: BuildMountsTable
  readonly pulled_images: PulledImagesTable
  readonly store_facts: StoreFactsTable
  readonly hosts: HostsTable
  readonly duties: DutiesTable
  readonly artifacts: ArtifactsTable
  readonly artifact_trash: ArtifactTrashTable
  readonly artifact_holds: ArtifactHoldsTable
  readonly template_checkpoints: TemplateCheckpointsTable
  readonly template_retakes: TemplateRetakesTable
  readonly worker_errands: WorkerErrandsTable
  readonly worker_offers: WorkerOffersTable
  readonly worker_grants: WorkerGrantsTable
  readonly known_runtimes: KnownRuntimesView
  readonly known_keys: KnownKeysView
}

/** The state of a host: `lost` and `gone` hosts act on nothing. */
export type HostState = 'joining' | 'ready' | 'cordoned' | 'draining' | 'lost' | 'gone'
/** The state that an operator wants of a host. */
export type HostWish = 'ready' | 'cordoned' | 'draining' | 'gone'

/** A project as stored. */
export type ProjectRow = Selectable<ProjectsTable>
/** A key as stored. */
export type KeyRow = Selectable<KeysTable>
export type ConsoleSessionRow = Selectable<ConsoleSessionsTable>
/** A template as stored. */
export type TemplateRow = Selectable<TemplatesTable>
/** A runtime as stored. */
export type RuntimeRow = Selectable<RuntimesTable>
/** A snapshot as stored. */
export type SnapshotRow = Selectable<SnapshotsTable>
/** A runtime of a pool as stored. */
export type PoolMemberRow = Selectable<PoolMembersTable>
/** A host as stored. */
export type HostRow = Selectable<HostsTable>
export type JoinTokenRow = Selectable<JoinTokensTable>
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
/** A runtime's network policy as stored. */
export type RuntimeNetworkRow = Selectable<RuntimeNetworksTable>
/** A runtime to store. */
export type NewRuntimeRow = Insertable<RuntimesTable>
