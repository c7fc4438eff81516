import { first } from './0001-first.ts'
import { ports } from './0002-ports.ts'
import { networkAndSecrets } from './0003-network-and-secrets.ts'
import { builds } from './0004-builds.ts'
import { lifecycle } from './0005-lifecycle.ts'
import { projects } from './0006-projects.ts'
import { events } from './0007-events.ts'
import { storeId } from './0008-store-id.ts'
import { idempotencyOrder } from './0009-idempotency-order.ts'
import { idempotencyKeys } from './0010-idempotency-keys.ts'
import { checkpointRecipe } from './0011-checkpoint-recipe.ts'
import { sandboxes } from './0012-sandboxes.ts'
import { oldResults } from './0013-old-results.ts'
import { consoleSessions } from './0014-console-sessions.ts'
import { pauseKinds } from './0015-pause-kinds.ts'
import { endedSecrets } from './0016-ended-secrets.ts'
import { buildRequests } from './0017-build-requests.ts'
import { snapshotRecords } from './0018-snapshot-records.ts'
import { buildRequestRows } from './0019-build-request-rows.ts'
import { hosts } from './0020-hosts.ts'
import { artifacts } from './0021-artifacts.ts'
import { drains } from './0023-drains.ts'
import { spread } from './0025-spread.ts'
import { requestRunners } from './0026-request-runners.ts'
import { workerErrands } from './0027-worker-errands.ts'
import { workers } from './0028-workers.ts'
import { fleetBuilds } from './0029-fleet-builds.ts'
import { workerOffers } from './0030-worker-offers.ts'
import { workerGrants } from './0032-worker-grants.ts'
import { joinTokenUses } from './0033-join-token-uses.ts'
import { templateRetakes } from './0034-template-retakes.ts'
import { followedNodes } from './0035-followed-nodes.ts'

/**
 * The schema's history. Each entry runs once, in order, in a transaction of its own. Entries are
 * never changed, only added, and each has a file. They are SQL for SQLite that `toPostgres` can
 * translate: mainly the types and endings of tables differ.
 */
export const migrations: readonly string[] = [
  first,
  ports,
  networkAndSecrets,
  builds,
  lifecycle,
  projects,
  events,
  storeId,
  idempotencyOrder,
  idempotencyKeys,
  checkpointRecipe,
  sandboxes,
  oldResults,
  consoleSessions,
  pauseKinds,
  endedSecrets,
  buildRequests,
  snapshotRecords,
  buildRequestRows,
  hosts,
  artifacts,
  drains,
  spread,
  requestRunners,
  workerErrands,
  fleetBuilds,
  workers,
  workerOffers,
  workerGrants,
  joinTokenUses,
  templateRetakes,
  followedNodes,
]
