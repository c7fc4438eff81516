import { FileDiff, Snapshot } from '@holt/protocol'
import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

async function start() {
  const server = await startTestServer()
  const id = await server.makeRuntime()
  const runtime = `/v1/agents/runtime/${id}`
  const write = (path: string, body: string) =>
    server.ask('PUT', `${runtime}/files/content?path=${encodeURIComponent(path)}`, { body })
  const change = (verb: string, json: object) => server.ask('POST', `${runtime}/files/${verb}`, { json })
  const diff = async (query: Record<string, string> = {}) =>
    FileDiff.parse((await server.ask('GET', `${runtime}/diff?${new URLSearchParams(query)}`)).json)
  const code = async (query: Record<string, string>) =>
    (await server.ask('GET', `${runtime}/diff?${new URLSearchParams(query)}`)).json.error.code
  const snapshot = async (kind: string, more: object = {}) =>
    Snapshot.parse((await server.ask('POST', `${runtime}/snapshot`, { json: { kind, ...more } })).json)
  const fork = async (from: string, json: object = {}): Promise<string> =>
    (await server.ask('POST', `/v1/agents/runtime/${from}/fork`, { json })).json.data[0].runtime.runtime_id
  const restore = async (from: string): Promise<string> =>
    (await server.ask('POST', '/v1/agents/runtime', { json: { snapshot: from } })).json.runtime_id
  const diffOf = async (of: string, query: Record<string, string> = {}) =>
    FileDiff.parse((await server.ask('GET', `/v1/agents/runtime/${of}/diff?${new URLSearchParams(query)}`)).json)
  return { ...server, id, runtime, write, change, diff, diffOf, code, snapshot, fork, restore }
}

const changesOf = ({ data }: FileDiff) => data.map(({ path, change }) => `${change} ${path}`)

test('a diff lists changes since the template by path, and the patch has their texts', async () => {
  const { write, change, diff } = await start()
  expect(await diff()).toMatchObject({ data: [], since: { type: 'template' }, truncated: false, patch: null })
  await write('/workspace/b b.txt', 'one\n')
  await write('/workspace/a.bin', '\0')
  await change('symlink', { path: '/workspace/link', target: 'no where' })
  await change('remove', { path: '/tmp', recursive: true })
  const { patch, patch_complete, ...found } = await diff({ patch: 'true' })
  expect(changesOf(found as FileDiff)).toEqual([
    'removed /tmp',
    'added /workspace/a.bin',
    'added /workspace/b b.txt',
    'added /workspace/link',
  ])
  expect(found.data.map(({ patch }) => patch)).toEqual(['not_in_git', 'binary', 'shown', 'shown'])
  expect(patch_complete).toBe(false)
  expect(patch).toContain('# workspace/a.bin is binary and is not shown: before absent, now 1 bytes\n')
  expect(patch).toContain('+++ b/workspace/b b.txt\t\n@@ -0,0 +1,1 @@\n+one\n')
  expect(patch).toContain('+no where\n\\ No newline at end of file\n')
})

test('pages follow each other, and a path limits the diff', async () => {
  const { write, diff } = await start()
  for (const name of ['c', 'a', 'b']) await write(`/workspace/${name}`, name)
  const first = await diff({ limit: '2' })
  expect(changesOf(first)).toEqual(['added /workspace/a', 'added /workspace/b'])
  expect(first.truncated).toBe(true)
  const second = await diff({ limit: '2', cursor: first.next_cursor ?? '' })
  expect(changesOf(second)).toEqual(['added /workspace/c'])
  expect(second).toMatchObject({ next_cursor: null, truncated: false })
  expect(changesOf(await diff({ path: '/workspace/b' }))).toEqual(['added /workspace/b'])
  expect((await diff({ path: '/workspace/b', patch: '1' })).patch).toContain('+++ b/b\n')
  expect(changesOf(await diff({ path: '/tmp' }))).toEqual([])
})

test('a diff since a snapshot has only later changes', async () => {
  const { write, change, diff, snapshot } = await start()
  await write('/workspace/kept', 'same')
  await write('/workspace/edited', 'a\nb\nc\n')
  await write('/workspace/gone', 'x')
  const { snapshot_id } = await snapshot('filesystem')
  await write('/workspace/kept', 'same')
  await write('/workspace/edited', 'a\nB\nc\n')
  await change('chmod', { path: '/workspace/kept', mode: '0755' })
  await change('remove', { path: '/workspace/gone' })
  const found = await diff({ since: snapshot_id, path: '/workspace', patch: 'true' })
  expect(found.since).toEqual({ type: 'snapshot', id: snapshot_id, name: null })
  expect(changesOf(found)).toEqual([
    'modified /workspace/edited',
    'removed /workspace/gone',
    'attributes /workspace/kept',
  ])
  expect(found.patch).toContain('@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n')
  expect(found.patch).toContain('diff --git a/kept b/kept\nold mode 100644\nnew mode 100755\n')
})

test('a diff since a memory snapshot with a record has only later changes, also in its runtimes and forks', async () => {
  const { write, change, diff, diffOf, snapshot, fork, restore, ask } = await start()
  await write('/workspace/kept', 'same')
  await write('/workspace/edited', 'a\nb\nc\n')
  await write('/workspace/gone', 'x')
  const { snapshot_id } = await snapshot('memory', { record_files: true })
  await write('/workspace/kept', 'same')
  await write('/workspace/edited', 'a\nB\nc\n')
  await change('remove', { path: '/workspace/gone' })
  const found = await diff({ since: snapshot_id, patch: 'true' })
  expect(found.since).toEqual({ type: 'snapshot', id: snapshot_id, name: null })
  expect(changesOf(found)).toEqual(['modified /workspace/edited', 'removed /workspace/gone'])
  expect(found.patch).toContain('@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n')
  const restored = await restore(snapshot_id)
  expect(await diffOf(restored)).toMatchObject({ data: [], since: { type: 'snapshot', id: snapshot_id } })
  const child = await fork(restored, { record_files: true })
  await ask('PUT', `/v1/agents/runtime/${child}/files/content?path=/workspace/edited`, { body: 'child' })
  const since = { type: 'fork', id: restored, name: null }
  expect(await diffOf(child)).toMatchObject({ since, data: [{ path: '/workspace/edited' }] })
  expect(changesOf(await diffOf(child, { since: 'image' }))).toEqual([
    'added /workspace/edited',
    'added /workspace/gone',
    'added /workspace/kept',
  ])
})

test('forks and memory snapshots without a record are compared with the image', async () => {
  const { id, write, diffOf, snapshot, fork, restore, runtime, ask } = await start()
  await write('/workspace/early', 'x')
  const { snapshot_id: recorded } = await snapshot('memory', { record_files: true })
  await write('/workspace/late', 'x')
  const { snapshot_id: plain } = await snapshot('memory')
  const refused = (await ask('GET', `${runtime}/diff?since=${plain}`)).json.error
  expect(refused).toMatchObject({ code: 'conflict', hint: expect.stringContaining('record_files') })
  const all = ['added /workspace/early', 'added /workspace/late']
  const recordedChild = await fork(id, { record_files: true })
  // Neither takes the record of an earlier checkpoint for its own.
  for (const each of [await restore(plain), await fork(id), await fork(recordedChild)]) {
    const found = await diffOf(each)
    expect(found.since.type).toBe('template')
    expect(changesOf(found)).toEqual(all)
  }
  expect(changesOf(await diffOf(await fork(id), { since: recorded }))).toEqual(['added /workspace/late'])
  expect(await diffOf(recordedChild)).toMatchObject({ data: [], since: { type: 'fork', id } })
})

test('files that were only written again do not fill a page', async () => {
  const { write, diff, snapshot } = await start()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await write(`/workspace/${name}`, 'same size')
  const since = (await snapshot('filesystem')).snapshot_id
  for (const name of ['a', 'b', 'c', 'd', 'e']) await write(`/workspace/${name}`, 'same size')
  for (const name of ['c', 'e']) await write(`/workspace/${name}`, 'SAME SIZE')
  const first = await diff({ since, limit: '1' })
  expect(changesOf(first)).toEqual(['modified /workspace/c'])
  const second = await diff({ since, limit: '1', cursor: first.next_cursor ?? '' })
  expect(changesOf(second)).toEqual(['modified /workspace/e'])
  expect(second.truncated).toBe(false)
})

test('a diff refuses paths, snapshots and cursors that do not fit', async () => {
  const { code, snapshot, makeRuntime, ask } = await start()
  expect(await code({ path: '/none' })).toBe('path_not_found')
  expect(await code({ path: 'relative' })).toBe('invalid_path')
  expect(await code({ since: 'none' })).toBe('snapshot_not_found')
  expect(await code({ cursor: '!' })).toBe('invalid_request')
  const { snapshot_id } = await snapshot('filesystem')
  const other = await makeRuntime()
  const answer = await ask('GET', `/v1/agents/runtime/${other}/diff?since=${snapshot_id}`)
  expect(answer.json.error.code).toBe('conflict')
})
