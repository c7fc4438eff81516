import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedLock } from '@holt/async'
import { makeId } from '@holt/protocol'
import { expect, test, vi } from 'vitest'
import type { Api } from '../../../src/api/api.ts'
import { FileNotes } from '../../../src/builds/file-notes.ts'
import { BuildPaths } from '../../../src/builds/paths.ts'
import { removeOldRequests } from '../../../src/e2b/control/remove-old-requests.ts'
import { RequestedBuilds } from '../../../src/e2b/control/requested-builds.ts'
import { clientTemplateId } from '../../../src/e2b/sandbox/client-template-id.ts'
import { dayMs } from '../../../src/foundation/time/day.ts'
import { newStateDir, openTestStore } from '../../support/test-store.ts'

const now = 100 * dayMs
const hourMs = 3600 * 1000

/** A store with a project, and a service of which only this is used. */
async function setUp() {
  const stateDir = await newStateDir()
  const store = await openTestStore(stateDir)
  await store.db.insertInto('projects').values({ project_id: 'p', name: 'p', created_at: 1 }).execute()
  const paths = new BuildPaths(stateDir)
  const builds = { paths, creates: new KeyedLock(), notes: new FileNotes(paths) }
  const log = { error: vi.fn() }
  const service = { store, now: () => now, builds, log } as unknown as Api
  return { store, paths, service, log, requests: new RequestedBuilds(service) }
}

function requestOf({ requestedAt = now, startedAt = null as number | null }) {
  const name = { shownName: 'app', name: 'app', tag: 'latest', tags: [] }
  const buildId = makeId('build')
  return {
    projectId: 'p',
    buildId,
    templateId: makeId('template'),
    ...name,
    cpu: 1,
    memoryMiB: 512,
    diskMiB: null,
    requestedAt,
    started: startedAt === null ? null : { at: startedAt, buildId, origins: [], lines: [] },
    tagged: false,
  }
}

const fileOf = ({ name, buildId }: { readonly name: string; readonly buildId: string }) =>
  `${clientTemplateId('p', name)}.${buildId}.json`

test('requests are kept for a day before their start, and for a week after it', async () => {
  const { paths, service, requests } = await setUp()
  const kept = [requestOf({}), requestOf({ requestedAt: now - 9 * dayMs, startedAt: now - 6 * dayMs })]
  const over = [requestOf({ requestedAt: now - dayMs - 1 }), requestOf({ startedAt: now - 7 * dayMs - 1 })]
  for (const one of [...kept, ...over]) await requests.write(one)
  await removeOldRequests(service)
  expect((await readdir(paths.requestsOf('p'))).toSorted()).toEqual(kept.map(fileOf).toSorted())
})

test('only the newest two hundred started requests of a project are kept', async () => {
  const { paths, service, requests } = await setUp()
  const oldest = requestOf({ startedAt: now - 2000 })
  await requests.write(oldest)
  for (let count = 0; count < 200; count += 1) await requests.write(requestOf({ startedAt: now - count }))
  await removeOldRequests(service)
  const names = await readdir(paths.requestsOf('p'))
  expect(names).toHaveLength(200)
  expect(names).not.toContain(fileOf(oldest))
})

test('a damaged request is removed, and one that is being written is kept for an hour', async () => {
  const { paths, service, log, requests } = await setUp()
  const kept = requestOf({})
  await requests.write(kept)
  const dir = paths.requestsOf('p')
  const parts = ['new', 'old'].map((name) => `${fileOf(kept)}.${name}`)
  for (const name of [fileOf(requestOf({})), ...parts]) await writeFile(join(dir, name), '{')
  const longAgo = new Date(Date.now() - 2 * hourMs)
  await utimes(join(dir, `${fileOf(kept)}.old`), longAgo, longAgo)
  await removeOldRequests(service)
  expect((await readdir(dir)).toSorted()).toEqual([fileOf(kept), `${fileOf(kept)}.new`])
  expect(log.error).toHaveBeenCalledTimes(1)
})

test('an upload is kept as long as its context, and the mark of an address until it is over', async () => {
  const { store, paths, service } = await setUp()
  const context = { project_id: 'p', size_bytes: 1, file_bytes: 1, entries: 1, created_at: now, used_at: now }
  await store.db
    .insertInto('build_contexts')
    .values({ ...context, context_id: 'here', sha256: 's' })
    .execute()
  const [present, gone] = ['a'.repeat(64), 'b'.repeat(64)]
  const dir = paths.uploadsOf('p')
  await mkdir(dir, { recursive: true })
  const files = {
    [present]: 'here',
    [gone]: 'removed',
    [`used-${now + hourMs}-one`]: '',
    [`used-${now - 1}-two`]: '',
    [`${present}.new`]: '',
    [`${present}.old`]: '',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  const longAgo = new Date(Date.now() - 2 * hourMs)
  await utimes(join(dir, `${present}.old`), longAgo, longAgo)
  await removeOldRequests(service)
  expect((await readdir(dir)).toSorted()).toEqual([present, `${present}.new`, `used-${now + hourMs}-one`].toSorted())
})

test('everything of a deleted project is removed', async () => {
  const { store, paths, service, requests } = await setUp()
  await requests.write(requestOf({}))
  await mkdir(paths.uploadsOf('p'), { recursive: true })
  await store.db.updateTable('projects').set({ deleted_at: now }).execute()
  await removeOldRequests(service)
  expect([await readdir(paths.requests), await readdir(paths.uploads)]).toEqual([[], []])
})
