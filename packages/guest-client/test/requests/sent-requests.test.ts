import { Readable } from 'node:stream'
import type { GuestLink, GuestRequest } from '@holt/engine'
import { expect, test } from 'vitest'
import { GuestClient, type ReplaceRequest, type SearchRequest, type StartProcess } from '../../src/index.ts'

const signal = AbortSignal.timeout(60_000)

/** Returns the one request of a call to the client. The guest refuses it. */
async function requestOf(call: (guest: GuestClient) => Promise<unknown>): Promise<GuestRequest> {
  const requests: GuestRequest[] = []
  const link: GuestLink = {
    connected: true,
    request: async (request) => {
      requests.push(request)
      return { status: 404, headers: {}, body: Readable.from(['{}']) }
    },
  }
  await expect(call(new GuestClient(link, { operation: () => 'operation-1' }))).rejects.toThrow('answered wrongly')
  expect(requests).toHaveLength(1)
  return requests[0] as GuestRequest
}

type Row = readonly [sent: string, call: (guest: GuestClient) => Promise<unknown>]

const path = '/a b'
const start: StartProcess = {
  id: 'cm1',
  command: 'id',
  argv: null,
  cwd: null,
  env: null,
  user: null,
  stdin: 'none',
  stdin_data: null,
  timeout_ms: 0,
  ring_bytes: null,
  pty: null,
  await_reader: false,
}
const body = Buffer.from('body')
const account = { env: {}, user: 'root', workdir: '/', pids_max: null, network: null }
const names = { runtime_id: 'rt1', hostname: 'rt1', machine_id: '0'.repeat(32), set_hostname: false }
const moment = { time_unix_ms: 1, entropy: '', set_clock: false }
const relief = { limit_bytes: 3, free_bytes: 2, least_bytes: 1, whole: true }
const upload = { path, upload_id: 'upload-1' }
const patterns = { globs: [], hidden: false, respect_gitignore: true }
const search: SearchRequest = {
  ...patterns,
  path,
  type: null,
  content: null,
  max_depth: 1,
  max_results: 1,
  timeout_ms: 1,
}
const replace: ReplaceRequest = {
  ...patterns,
  paths: null,
  path,
  pattern: 'a',
  replacement: 'b',
  regex: false,
  case_sensitive: true,
  expected_count: null,
  dry_run: false,
}
const archive = {
  path,
  format: null,
  user: null,
  keepOwners: false,
  overwrite: true,
  merge: false,
  maxEntries: 1,
  body,
}
const tree = { destination: '/d', singleFile: true, keepOwners: false, unpack: false, mode: null, body }
const homes = { attributePrefix: 'user.test.' }
const transfer = { source: '/a', destination: '/b', overwrite: false }

/** The requests that are done once for each operation. */
const changes: readonly Row[] = [
  ['POST /v1/processes/cm1/signal', (guest) => guest.processes.signal('cm1', 'SIGTERM', signal)],
  ['POST /v1/processes/cm1/resize', (guest) => guest.processes.resize('cm1', { cols: 80, rows: 24 }, signal)],
  [
    'POST /v1/processes/cm1/stdin?eof=0',
    (guest) => guest.processes.writeStdin('cm1', { data: body, eof: false, offset: null }, signal),
  ],
  [
    'POST /v1/processes/cm1/stdin?eof=1&offset=3',
    (guest) => guest.processes.writeStdin('cm1', { data: body, eof: true, offset: 3 }, signal),
  ],
  [
    'POST /v1/files/mkdir',
    (guest) => guest.files.makeDirectory({ path, parents: true, mode: null, user: null }, signal),
  ],
  ['POST /v1/files/symlink', (guest) => guest.files.makeSymlink({ path, target: '/t', overwrite: false }, signal)],
  ['POST /v1/files/remove', (guest) => guest.files.remove({ path, recursive: true }, signal)],
  ['POST /v1/files/move', (guest) => guest.files.move(transfer, signal)],
  ['POST /v1/files/copy', (guest) => guest.files.copy({ ...transfer, recursive: true }, signal)],
  ['POST /v1/files/chmod', (guest) => guest.files.changeMode({ path, mode: '0644', recursive: false }, signal)],
  ['POST /v1/files/chown', (guest) => guest.files.changeOwner({ path, user: 'root', recursive: false }, signal)],
  ['POST /v1/files/mkdir', (guest) => guest.homes(homes).makeDirectory({ account: 'ada', path }, signal)],
  [
    'POST /v1/files/move',
    (guest) => guest.homes(homes).rename({ account: 'ada', source: 'a', destination: '~/b' }, signal),
  ],
  ['POST /v1/files/remove', (guest) => guest.homes(homes).remove({ account: 'ada', path: '~' }, signal)],
  ['POST /v1/files/replace', (guest) => guest.search.replace(replace, signal)],
]

const others: readonly Row[] = [
  ['GET /v1/info', (guest) => guest.info(signal)],
  ['GET /v1/usage', (guest) => guest.usage(signal)],
  ['POST /v1/bind', (guest) => guest.bind({ ...account, ...names, ...moment }, signal)],
  ['POST /v1/seed', (guest) => guest.seed(account, signal)],
  ['POST /v1/memory/relief', (guest) => guest.relieveMemory(relief, signal)],
  ['PUT /v1/network', (guest) => guest.setNetwork(null, signal)],
  ['POST /v1/quiesce', (guest) => guest.quiesce(signal)],
  ['POST /v1/quiesce?force=1', (guest) => guest.quiesce(signal, { force: true })],
  ['POST /v1/quiesce?force=1&baseline=cp1', (guest) => guest.quiesce(signal, { force: true, baseline: 'cp1' })],
  ['POST /v1/processes', (guest) => guest.processes.start(start, signal)],
  ['POST /v1/processes?follow=1', (guest) => guest.processes.run(start, signal)],
  ['GET /v1/processes', (guest) => guest.processes.list(signal)],
  ['GET /v1/processes/cm1', (guest) => guest.processes.get('cm1', signal)],
  [
    'GET /v1/processes/cm1/output?cursor=7&follow=0',
    (guest) => guest.processes.readOutput('cm1', { cursor: 7, follow: false }, signal),
  ],
  [
    'GET /v1/processes/cm1/output?cursor=0&follow=1&hold=1',
    (guest) => guest.processes.readOutput('cm1', { cursor: 0, follow: true, hold: true }, signal),
  ],
  ['DELETE /v1/processes/cm1', (guest) => guest.processes.kill('cm1', signal)],
  ['GET /v1/sessions', (guest) => guest.sessions.list(signal)],
  ['DELETE /v1/sessions/a%2Fb', (guest) => guest.sessions.end('a/b', signal)],
  [
    'POST /v1/listing/entries',
    (guest) => guest.listings.entries({ paths: [Buffer.from(path)], digest: true, maxBytes: 1 }, signal),
  ],
  ['GET /v1/files/stat?path=%2Fa%20b', (guest) => guest.files.stat(path, signal)],
  [
    'GET /v1/files/list?path=%2Fa%20b&depth=1&limit=9&after=c%20d',
    (guest) => guest.files.list({ path, depth: 1, limit: 9, after: 'c%20d' }, signal),
  ],
  [
    'GET /v1/files/watch?path=%2Fa%20b&recursive=1&cursor=3',
    (guest) => guest.files.watch({ path, recursive: true, cursor: 3 }, signal),
  ],
  ['GET /v1/files/content?path=%2Fa%20b', (guest) => guest.content.read({ path, range: null }, signal)],
  [
    'PUT /v1/files/content?path=%2Fa%20b&mode=0600&create_only=1&part_sha256=ab',
    (guest) => guest.content.write({ path, mode: '0600', createOnly: true, partSha256: 'ab', body }, signal),
  ],
  [
    'PUT /v1/files/content/if-match?path=%2Fa%20b&create_only=0&etag=%22a%22',
    (guest) => guest.content.write({ path, createOnly: false, ifMatch: '"a"', body }, signal),
  ],
  [
    'PUT /v1/files/content?path=%2Fa%20b&create_only=0&upload_id=upload-1&offset=4&partial=1',
    (guest) =>
      guest.content.writePart(
        { path, createOnly: false, uploadId: 'upload-1', offset: 4, partial: true, body },
        signal,
      ),
  ],
  [
    'GET /v1/files/stat?path=~%2Fa%20b&home_of=ada&targets=1&attributes=user.test.',
    (guest) => guest.homes(homes).stat({ account: 'ada', path: '~/a b' }, signal),
  ],
  [
    'GET /v1/files/list?path=%2Fa%20b&depth=2&limit=9&targets=1&attributes=user.test.&after=c',
    (guest) => guest.homes(homes).list({ path, depth: 2, limit: 9, after: 'c' }, signal),
  ],
  [
    'GET /v1/files/content?path=a&home_of=ada',
    (guest) => guest.homes(homes).read({ account: 'ada', path: 'a' }, signal),
  ],
  [
    'PUT /v1/files/content?path=a&home_of=ada&user=ada&in_place=1&targets=1&attributes=user.test.',
    (guest) => guest.homes(homes).write({ account: 'ada', path: 'a', attributes: null, body }, signal),
  ],
  [
    'PUT /v1/files/content?path=a&home_of=ada&user=ada&in_place=1&set_attributes=%7B%22k%22%3A%22v%22%7D&targets=1&attributes=user.test.',
    (guest) => guest.homes(homes).write({ account: 'ada', path: 'a', attributes: { k: 'v' }, body }, signal),
  ],
  ['GET /v1/processes?pid=12', (guest) => guest.processes.find({ pid: 12 }, signal)],
  ['GET /v1/processes?label=a%20b', (guest) => guest.processes.find({ label: 'a b' }, signal)],
  ['GET /v1/files/upload?path=%2Fa%20b&upload_id=upload-1', (guest) => guest.content.uploadStatus(upload, signal)],
  ['DELETE /v1/files/upload?path=%2Fa%20b&upload_id=upload-1', (guest) => guest.content.abortUpload(upload, signal)],
  ['POST /v1/files/search', (guest) => guest.search.stream(search, signal)],
  [
    'GET /v1/files/archive?path=%2Fa%20b&format=tar',
    (guest) => guest.trees.readArchive({ path, format: 'tar' }, signal),
  ],
  [
    'PUT /v1/files/archive?path=%2Fa%20b&keep_owners=0&overwrite=1&merge=0&max_entries=1&max_bytes=2',
    (guest) => guest.trees.writeArchive({ ...archive, maxBytes: 2 }, signal),
  ],
  ['POST /v1/export', (guest) => guest.trees.export({ onlyChanged: true }, signal)],
  ['POST /v1/select', (guest) => guest.trees.select({ sources: ['/a'] }, signal)],
  [
    'PUT /v1/apply?destination=%2Fd&single=1&keep_owners=0&unpack=0&chown=1%3A2',
    (guest) => guest.trees.apply({ ...tree, chown: '1:2' }, signal),
  ],
  ['POST /v1/mounts', (guest) => guest.mounts.add([{ id: 'one', target: '/m', kind: 'directory' }], signal)],
  ['DELETE /v1/mounts', (guest) => guest.mounts.clear(signal)],
  ['GET /v1/ports', (guest) => guest.ports.list(signal)],
  ['GET /v1/ports/80?wait_ms=5', (guest) => guest.ports.wait(80, 5, signal)],
  ['POST /v1/ports/80/connect', (guest) => guest.ports.connect(80, { signal })],
]

test.each(changes)('sends %s with the id of its operation', async (sent, call) => {
  const { method, path: target, headers } = await requestOf(call)
  expect(`${method} ${target}`).toBe(sent)
  expect(headers).toMatchObject({ 'x-holt-operation': 'operation-1' })
})

test.each(others)('sends %s without the id of its operation', async (sent, call) => {
  const { method, path: target, headers } = await requestOf(call)
  expect(`${method} ${target}`).toBe(sent)
  expect(headers ?? {}).not.toHaveProperty('x-holt-operation')
})

const followed: readonly Row[] = [
  ['a process that runs', (guest) => guest.processes.run(start, signal)],
  ['output that is followed', (guest) => guest.processes.readOutput('cm1', { cursor: 0, follow: true }, signal)],
  ['a watch', (guest) => guest.files.watch({ path, recursive: false, cursor: null }, signal)],
  ['a wait for a port', (guest) => guest.ports.wait(80, 1, signal)],
  ['a connection', (guest) => guest.ports.connect(80, { signal })],
]

test.each(followed)('marks %s as an answer that continues', async (_, call) => {
  expect((await requestOf(call)).follows).toBe(true)
})

test('asks for a range of a file only with its condition', async () => {
  const both = await requestOf((guest) => guest.content.read({ path, range: 'bytes=1-', ifRange: '"e"' }, signal))
  expect(both.headers).toEqual({ range: 'bytes=1-', 'if-range': '"e"' })
  const neither = await requestOf((guest) => guest.content.read({ path, range: null, ifRange: '"e"' }, signal))
  expect(neither.headers).toEqual({})
})
