import { gzipSync } from 'node:zlib'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { WorkerErrands } from '../../../src/fleet/trust/worker-errands.ts'
import type { TestHost } from '../../support/fleet.ts'
import { tarOf } from '../../support/tar-of.ts'
import { never } from '../../support/test-hosts.ts'
import { startWorkerFleet, strangerLinks } from '../../support/worker-fleet.ts'

test('a worker reads the contexts of projects that it serves alone', async () => {
  const fleet = await startWorkerFleet()
  const [[front], [worker]] = [fleet.fronts, fleet.workers] as [[TestHost], [TestHost]]
  const body = gzipSync(await tarOf({ a: 'the content' }))
  const stored = await front.server.ask('POST', '/v1/agents/template/context', { body })
  expect(stored.status).toBe(201)
  const contextId = stored.json.context_id as string
  const links = await strangerLinks(fleet, worker)
  const read = async (id: string) => {
    const { status, body } = await links.get(front.hostId, 'bytes', { path: `/peer/context/${id}`, signal: never })
    const pieces: Uint8Array[] = []
    for await (const piece of body) pieces.push(piece)
    return [status, Buffer.concat(pieces).includes('the content')]
  }
  expect(await read(contextId)).toEqual([403, false])
  const contexts = fleet.store.db.selectFrom('build_contexts').select('project_id')
  const { project_id: projectId } = await contexts.executeTakeFirstOrThrow()
  await new WorkerErrands({ store: fleet.store, now: Date.now, isWorker: () => true }).permit(worker.hostId, projectId)
  expect(await read(contextId)).toEqual([200, true])
  expect(await read(makeId('context'))).toEqual([403, false])
})
