import { type IdKind, idPrefixes } from '@holt/protocol'
import { judgedStates } from '../../foundation/host/host-row.ts'
import { endedStates } from '../../foundation/rows/states.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import { caPurpose } from '../../resources/network/decide-network.ts'
import { workersFromLevel } from '../peers/protocol-range.ts'
import { everything, keptOf, nothing, type RightsByTable, rows } from './table-rights.ts'

const { all, own, served, ownOrServed, ofOwnRuntime, ofOwnRuntimeAndProject, ofOwnBuild } = rows

/** True while the worker makes the base templates for the fleet. */
const makesBaseTemplates = `EXISTS (
  SELECT FROM duties WHERE duties.name = 'base_templates' AND duties.host_id = holt_worker_host())`

/**
 * The facts that a worker may tell of itself. All hosts read them each second. It has no keys, by
 * which the others would choose theirs, and no version of the protocol from before workers.
 */
const tellsLittle = `key_ids = '' AND (protocol_max = 0 OR protocol_max >= ${workersFromLevel})
  AND octet_length(facts_json) <= ${64 * 1024}
  AND octet_length(concat(address, class_id, version, boot_id, node, zone)) <= ${4 * 1024}`

/** Returns the condition that a column has an id of a kind. Things of other kinds have others. */
function isId(column: string, kind: IdKind): string {
  return `${column} ~ '^${idPrefixes[kind]}[a-z0-9]{20}$'`
}

/** The paused runtimes without an owner that a front lets it take. */
const offered = `(host_id IS NULL AND state = 'paused' AND runtime_id IN (SELECT holt_worker_offers()))`

/** The runtimes that a front has sent it, to take them or to make their children. */
const sent = 'runtime_id IN (SELECT holt_worker_offers())'

/** The rights to what hangs on its runtimes. It reads that of runtimes that a front has sent it. */
const seenWithRuntimes = { columns: 'all', rows: `${ofOwnRuntime} OR ${sent}` } as const

/** The templates that a worker sees: those of the projects that it serves, and Holt's own. */
const seenTemplates = `${served} OR project_id = '${systemProjectId}'`

/** The templates that a worker changes. It changes Holt's own while it makes them. */
const madeTemplates = `project_id IN (SELECT holt_worker_projects())
  AND (project_id <> '${systemProjectId}' OR ${makesBaseTemplates})`

/** The log of Holt's own project, which has the events of hosts. */
const ofHosts = `project_id = '${systemProjectId}'`

/** An event of the worker's own host. */
const ownHostEvent = `(${ofHosts} AND subject_id = (SELECT holt_worker_host()) AND type LIKE 'host.%')`

/** The sealed keys of the authorities of its runtimes, and of snapshots that it takes. */
const ownAuthorities = `purpose = '${caPurpose}' AND (owner_id, project_id) IN (
  SELECT own.runtime_id, own.project_id FROM runtimes AS own WHERE own.host_id = holt_worker_host()
  UNION ALL SELECT own.snapshot_id, own.project_id FROM snapshots AS own WHERE own.host_id = holt_worker_host())`

/** True for rows of the class of checkpoints that the worker restores. */
const ofOwnClass = 'class_id IN (SELECT hosts.class_id FROM hosts WHERE hosts.host_id = holt_worker_host())'

/**
 * The rights of a worker in the database: which columns of which rows of each table its role reads
 * and writes. `docs/` and LIMITATIONS.md list what remains possible with them.
 */
export const workerRights: RightsByTable = {
  // Fronts alone know callers and values.
  keys: nothing,
  console_sessions: nothing,
  signing_keys: nothing,
  providers: nothing,
  webhooks: nothing,
  webhook_deliveries: nothing,

  projects: {
    select: {
      columns: ['project_id', 'quotas_json', 'updated_at', 'deleted_at'],
      rows: `${served} OR project_id = '${systemProjectId}'`,
    },
  },
  policies: { select: { columns: 'all', rows: served } },
  secrets: { select: { columns: 'all', rows: served } },
  sealed_values: {
    select: { columns: ['owner_id', 'purpose', 'project_id', 'version', 'master_key_id'], rows: ownAuthorities },
    insert: { columns: 'all', rows: ownAuthorities },
    update: { columns: 'all', rows: ownAuthorities },
    delete: { rows: ownAuthorities },
  },

  runtimes: {
    // A runtime that it has released is read once more: by the change that releases it.
    select: {
      columns: 'all',
      rows: `${own} OR ${sent} OR (host_id IS NULL AND near_host_id = (SELECT holt_worker_host()))`,
    },
    insert: { columns: 'all', rows: `${own} AND ${served} AND ${isId('runtime_id', 'runtime')}` },
    update: {
      columns: [
        ...(['state', 'state_reason_json', 'revision', 'updated_at', 'started_at', 'ended_at', 'paused_at'] as const),
        ...(['host_id', 'host_epoch', 'near_host_id', 'image_digest', 'origin_image_digest'] as const),
        ...(['pause_checkpoint_id', 'pause_kind', 'expires_at', 'timeout_secs', 'on_timeout'] as const),
        ...(['idle_timeout_secs', 'auto_resume', 'name', 'metadata_json', 'ports_json', 'env_json'] as const),
        ...(['e2b_json', 'token_generation'] as const),
      ],
      // A runtime that has ended stays so: its secrets are not given out again.
      rows: `(${own} AND state NOT IN ('${endedStates.join("', '")}')) OR ${offered}`,
      into: `${own} OR (host_id IS NULL AND state = 'paused' AND near_host_id = (SELECT holt_worker_host()))`,
    },
  },
  known_runtimes: { select: { columns: 'all', rows: served } },
  known_keys: { select: { columns: 'all', rows: served } },
  runtime_networks: { ...everything(ofOwnRuntimeAndProject), select: seenWithRuntimes },
  runtime_secrets: {
    select: seenWithRuntimes,
    insert: {
      columns: 'all',
      rows: `${ofOwnRuntimeAndProject} AND secret_id IN (SELECT holt_worker_secrets(runtime_id))`,
    },
  },
  runtime_addresses: { ...everything(ofOwnRuntime), select: seenWithRuntimes },
  decisions: everything(ofOwnRuntimeAndProject),
  pool_members: everything(own),
  snapshots: {
    select: { columns: 'all', rows: ownOrServed },
    insert: { columns: 'all', rows: `${own} AND ${ofOwnRuntimeAndProject} AND ${isId('snapshot_id', 'snapshot')}` },
    update: {
      columns: [
        ...(['state', 'state_reason_json', 'image_digest', 'checkpoint_id', 'record_files', 'size_bytes'] as const),
        ...(['settings_json', 'host_id', 'host_epoch'] as const),
      ],
      rows: own,
    },
    delete: { rows: own },
  },

  templates: {
    select: { columns: 'all', rows: seenTemplates },
    insert: { columns: 'all', rows: madeTemplates },
    update: { columns: 'all', rows: madeTemplates },
    delete: { rows: madeTemplates },
  },
  template_checkpoints: {
    select: { columns: 'all', rows: all },
    insert: {
      columns: 'all',
      rows: `template_id IN (SELECT seen.template_id FROM templates AS seen)
        AND ${ofOwnClass}`,
    },
    // A checkpoint of an image that the template has no longer is out of date.
    delete: {
      rows: `template_id IN (
        SELECT seen.template_id FROM templates AS seen
        WHERE seen.project_id <> '${systemProjectId}' OR ${makesBaseTemplates}
          OR seen.image_digest IS DISTINCT FROM template_checkpoints.image_digest)`,
    },
  },
  // The hosts of its class do this work for each other.
  template_retakes: {
    select: { columns: 'all', rows: all },
    insert: { columns: 'all', rows: `${own} AND ${ofOwnClass}` },
    update: { columns: ['host_id', 'host_epoch'], rows: ofOwnClass, into: own },
    delete: { rows: `${own} OR template_id IN (SELECT seen.template_id FROM templates AS seen)` },
  },
  builds: {
    select: { columns: 'all', rows: ownOrServed },
    insert: { columns: 'all', rows: `${own} AND ${served}` },
    update: { columns: 'all', rows: `${own} AND ${served}` },
  },
  build_logs: everything(ofOwnBuild),
  build_requests: everything(ofOwnBuild),
  build_resources: {
    select: { columns: 'all', rows: `${own} OR build_id IN (SELECT seen.build_id FROM builds AS seen)` },
    insert: { columns: 'all', rows: own },
    update: { columns: 'all', rows: own },
    delete: { rows: own },
  },
  build_contexts: everything(served),
  build_notes: everything(served),
  build_cache: keptOf(rows),
  build_mounts: keptOf(rows),
  pulled_images: keptOf(rows),

  artifacts: {
    select: { columns: 'all', rows: all },
    insert: { columns: 'all', rows: `${own} AND condemned_at IS NULL` },
    // Hosts that make the same image store it for each other. A worker condemns nothing.
    update: {
      columns: ['state', 'stored_at', 'unneeded_since', 'condemned_at'],
      rows: `${own} OR kind = 'image' OR state = 'stored'`,
      into: `unneeded_since IS NULL AND condemned_at IS NULL AND (state = 'stored' OR NOT holt_is_stored(artifact_id))`,
    },
  },
  artifact_trash: { select: { columns: 'all', rows: all }, delete: { rows: all } },
  artifact_holds: {
    select: { columns: 'all', rows: all },
    insert: { columns: 'all', rows: own },
    delete: { rows: own },
  },

  events: { insert: { columns: 'all', rows: `${served} OR ${ownHostEvent}` } },
  log_positions: {
    select: { columns: 'all', rows: all },
    insert: { columns: 'all', rows: `${served} OR ${ofHosts}` },
    update: { columns: ['last'], rows: `${served} OR ${ofHosts}` },
  },
  // The worker completes its entries. A change that finds its row by the id has to see the new row.
  audit: {
    select: { columns: ['audit_id'], rows: served },
    insert: { columns: 'all', rows: served },
    update: {
      columns: ['subject_id', 'status', 'last_at', 'count'],
      rows: `${served} AND status IS NULL`,
      into: served,
    },
  },
  idempotency: everything(served),

  hosts: {
    select: { columns: 'all', rows: all },
    update: {
      columns: [
        ...(['epoch', 'beat', 'state', 'address', 'class_id', 'protocol_min', 'protocol_max', 'version'] as const),
        ...(['key_ids', 'boot_id', 'clock_offset', 'facts_json', 'seen_at'] as const),
        ...(['wanted', 'drain_until'] as const),
      ],
      rows: `${own} AND state <> 'gone'`,
      // A host that is empty after a drain stays cordoned. Nothing else of the wish is its own.
      into: `${own} AND state NOT IN ('${judgedStates.join("', '")}')
        AND wanted IN ('cordoned', (SELECT holt_worker_wish())) AND ${tellsLittle}`,
    },
  },
  duties: {
    select: { columns: 'all', rows: all },
    insert: { columns: 'all', rows: `${own} AND name = 'base_templates'` },
    update: { columns: ['host_id', 'host_epoch', 'turn'], rows: `name = 'base_templates'`, into: own },
  },
  worker_errands: nothing,
  join_tokens: nothing,
  worker_offers: nothing,
  worker_grants: nothing,
  store_facts: { select: { columns: 'all', rows: all } },
}
