import { z } from 'zod'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { CreateSnapshot, ListSnapshotsQuery, Snapshot } from '../snapshot.ts'
import { answer, json, none, runtimeParams, runtimePath } from './parts.ts'

const snapshotParams = z.strictObject({ snapshot_id: z.string().describe('The snapshot by id or name.') })
const snapshotPath = '/v1/agents/snapshot/{snapshot_id}'

/** The routes of snapshots. */
export const snapshotRoutes = {
  createSnapshot: {
    method: 'POST',
    path: `${runtimePath}/snapshot`,
    runsOn: 'owner',
    whilePaused: 'answer',
    summary: 'Take a snapshot of a runtime',
    description:
      'The runtime is stopped while its state is written, and then continues. Its outgoing connections are reset. The service answers when the snapshot is durable.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(CreateSnapshot),
    answers: { 201: answer(Snapshot, 'The snapshot is durable.') },
    errors: [
      'runtime_not_found',
      'runtime_not_running',
      'runtime_paused',
      'runtime_terminated',
      'name_taken',
      'unsupported_setting',
      'conflict',
      'not_supported_here',
      'disk_full',
      'quota_exceeded',
      'unsupported_media_type',
      'unavailable',
      'timeout',
    ],
  },
  listSnapshots: {
    method: 'GET',
    path: '/v1/agents/snapshot',
    runsOn: 'entry',
    summary: 'List snapshots',
    description: 'Newest first.',
    scope: 'runtime:read',
    query: ListSnapshotsQuery,
    body: none,
    answers: { 200: answer(pageOf(Snapshot).meta({ id: 'SnapshotPage' }), 'A page of snapshots.') },
    errors: [],
  },
  getSnapshot: {
    method: 'GET',
    path: snapshotPath,
    runsOn: 'entry',
    summary: 'Get a snapshot',
    scope: 'runtime:read',
    params: snapshotParams,
    body: none,
    answers: { 200: answer(Snapshot, 'The snapshot.') },
    errors: ['snapshot_not_found'],
  },
  deleteSnapshot: {
    method: 'DELETE',
    path: snapshotPath,
    runsOn: 'entry',
    summary: 'Delete a snapshot',
    description: 'Runtimes made from it continue.',
    scope: 'runtime:write',
    params: snapshotParams,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: ['snapshot_not_found'],
  },
} as const satisfies Record<string, Route>
