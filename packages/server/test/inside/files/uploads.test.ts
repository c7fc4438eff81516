import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

async function start() {
  const server = await startTestServer()
  const files = `/v1/agents/runtime/${await server.makeRuntime()}/files`
  return { ...server, files, part: `${files}/content?path=/tmp/a&upload_id=upload-1` }
}

const digest = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`

test('an upload in parts becomes a file with its last part', async () => {
  const { ask, files, part } = await start()
  const first = await ask('PUT', `${part}&partial=true`, { body: 'one ' })
  expect([first.status, first.json]).toEqual([
    202,
    { upload_id: 'upload-1', path: '/tmp/a', offset_bytes: 4, completed: false },
  ])
  expect((await ask('GET', `${files}/stat?path=/tmp/a`)).json.error.code).toBe('path_not_found')
  expect((await ask('PUT', `${part}&offset=3`, { body: 'x' })).json.error.code).toBe('conflict')
  const status = `${files}/upload?path=/tmp/a&upload_id=upload-1`
  expect((await ask('GET', status)).json).toMatchObject({ offset_bytes: 4, completed: false })
  const last = await ask('PUT', `${part}&offset=4`, { body: 'two', headers: { 'repr-digest': digest('one two') } })
  expect([last.status, last.json.size_bytes]).toEqual([201, 7])
  expect((await ask('GET', status)).json).toMatchObject({ offset_bytes: 7, completed: true })
})

test('an upload can be aborted, even if it does not exist', async () => {
  const { ask, files, part } = await start()
  await ask('PUT', `${part}&partial=1`, { body: 'one ' })
  const upload = `${files}/upload?path=/tmp/a&upload_id=upload-1`
  expect((await ask('DELETE', upload)).status).toBe(204)
  expect((await ask('DELETE', upload)).status).toBe(204)
  expect((await ask('GET', upload)).json.offset_bytes).toBe(0)
})

test.each([
  ['content-digest', digest('x'), 201],
  ['repr-digest', `sha-512=:AAAA:, ${digest('x')}`, 201],
  ['content-digest', digest('y'), 'digest_mismatch'],
  ['repr-digest', digest('y'), 'digest_mismatch'],
  ['repr-digest', 'sha-512=:AAAA:', '/header/Repr-Digest'],
  ['repr-digest', 'sha-256=AAAA', '/header/Repr-Digest'],
  ['content-digest', `${digest('x')}, ${digest('x')}`, '/header/Content-Digest'],
  ['content-digest', '', '/header/Content-Digest'],
])('%s: %s is %s', async (header, value, expected) => {
  const { ask, files } = await start()
  const { status, json } = await ask('PUT', `${files}/content?path=/tmp/a`, { body: 'x', headers: { [header]: value } })
  expect([status, json.error?.code, json.error?.details?.issues?.[0]?.pointer]).toContain(expected)
  expect((await ask('GET', `${files}/stat?path=/tmp/a`)).status).toBe(expected === 201 ? 200 : 404)
})

test.each([
  ['&offset=1', '/query/upload_id'],
  ['&upload_id=short', '/query/upload_id'],
  ['&upload_id=../../../etc/x', '/query/upload_id'],
  ['&upload_id=upload-1&offset=-1', '/query/offset'],
  ['&upload_id=upload-1&partial=maybe', '/query/partial'],
])('a write with %s is refused', async (query, pointer) => {
  const { ask, files } = await start()
  const { json } = await ask('PUT', `${files}/content?path=/tmp/a${query}`, { body: 'x' })
  expect(json.error.details.issues[0].pointer).toBe(pointer)
})

test('a range is answered only for the version that the client knows', async () => {
  const { ask, files } = await start()
  const path = `${files}/content?path=/tmp/a`
  await ask('PUT', path, { body: '0123456789' })
  const etag = (await ask('GET', path)).headers.get('etag') ?? ''
  const read = async (condition: string) =>
    (await ask('GET', path, { headers: { range: 'bytes=2-4', 'if-range': condition } })).text
  expect(await read(etag)).toBe('234')
  for (const other of ['"another"', 'W/"fake"', 'Sat, 01 Jan 2000 00:00:00 GMT', '"'])
    expect(await read(other)).toBe('0123456789')
})
