import { E2bError, type ListSnapshots, type NewSnapshot } from '@holt/e2b'
import { CreateSnapshot } from '@holt/protocol'
import type { z } from 'zod'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import { listSnapshots } from '../../runtimes/snapshots/list-snapshots.ts'
import { takeSnapshot } from '../../runtimes/snapshots/take-snapshot.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'
import { findLiveRunning } from './find-live.ts'
import { pageHeaders } from './list-sandboxes.ts'

/** Takes a snapshot of a sandbox, which continues to run. */
export async function snapshotSandbox({
  service,
  body,
  ref,
  newId,
}: ControlCall<z.output<typeof NewSnapshot>, unknown>): Promise<E2bAnswer> {
  await findLiveRunning(service, ref)
  const { name, memory } = body
  const parsed = CreateSnapshot.safeParse({
    ...(name === undefined ? {} : { name: untagged(name) }),
    ...(memory === undefined ? {} : { kind: memory ? 'memory' : 'filesystem' }),
  })
  if (!parsed.success) throw new E2bError(400, `name ${parsed.error.issues[0]?.message ?? 'is not valid'}`)
  const row = await takeSnapshot(service, { ...ref, snapshotId: newId('snapshot'), request: parsed.data })
  return { status: 201, json: shown(row.snapshot_id, row.name) }
}

/** Lists the snapshots of a project that are ready, newest first. */
export async function listReadySnapshots({
  service,
  caller: { projectId },
  query: { sandboxID, name, limit, nextToken },
  gone,
}: ControlCall<unknown, z.output<typeof ListSnapshots>>): Promise<E2bAnswer> {
  const list = () =>
    listSnapshots(service, projectId, {
      state: 'ready',
      limit,
      ...(sandboxID === undefined ? {} : { runtime_id: sandboxID }),
      ...(name === undefined ? {} : { name: untagged(name) }),
      ...(nextToken === undefined || nextToken === '' ? {} : { cursor: nextToken }),
    })
  const { data, next_cursor } = await readOneByOne(service, { projectId, gone }, list)
  return {
    status: 200,
    json: data.map(({ snapshot_id, name }) => shown(snapshot_id, name)),
    headers: pageHeaders(next_cursor),
  }
}

function shown(snapshotID: string, name: string | null) {
  return { snapshotID, names: name === null ? [] : [name] }
}

/** Returns a name without the tag `default`, which clients add to a name without a tag. */
function untagged(name: string): string {
  return name.replace(/:default$/, '')
}
