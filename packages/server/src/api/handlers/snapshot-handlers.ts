import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { answerPage } from '../../foundation/wire/call.ts'
import { deleteSnapshot } from '../../runtimes/snapshots/delete-snapshot.ts'
import { findSnapshot } from '../../runtimes/snapshots/find-snapshot.ts'
import { listSnapshots } from '../../runtimes/snapshots/list-snapshots.ts'
import { presentSnapshot } from '../../runtimes/snapshots/present-snapshot.ts'
import { takeSnapshot } from '../../runtimes/snapshots/take-snapshot.ts'
import type { Handlers } from '../api.ts'

/** The routes of snapshots. */
export const snapshotHandlers = {
  createSnapshot: async ({ service, caller, params, body, newId }) => {
    const row = await takeSnapshot(service, {
      projectId: caller.projectId,
      runtimeId: params.runtime_id,
      snapshotId: newId('snapshot'),
      request: body,
    })
    return { status: 201, json: presentSnapshot(row) }
  },
  listSnapshots: async ({ service, caller: { projectId }, query, gone }) =>
    answerPage(await readOneByOne(service, { projectId, gone }, () => listSnapshots(service, projectId, query))),
  getSnapshot: async ({ service, caller, params }) => {
    const row = await findSnapshot(service.store.db, { projectId: caller.projectId, reference: params.snapshot_id })
    return { status: 200, json: presentSnapshot(row) }
  },
  deleteSnapshot: async ({ service, caller, params }) => {
    await deleteSnapshot(service, { projectId: caller.projectId, reference: params.snapshot_id, by: caller.keyId })
    return { status: 204 }
  },
} satisfies Partial<Handlers>
