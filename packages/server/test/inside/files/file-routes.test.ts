import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { exactLength } from '../../../src/inside/files/exact-length.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

async function start(): Promise<TestServer & { files: string }> {
  const server = await startTestServer()
  return { ...server, files: `/v1/agents/runtime/${await server.makeRuntime()}/files` }
}

describe('content', () => {
  test('is created, replaced and read', async () => {
    const { ask, files } = await start()
    const path = `${files}/content?path=/workspace/a/b.txt`
    expect((await ask('PUT', path, { body: 'one' })).status).toBe(201)
    const replaced = await ask('PUT', `${path}&mode=600`, { body: 'three' })
    expect([replaced.status, replaced.json.size_bytes, replaced.json.mode]).toEqual([200, 5, '0600'])
    const { status, text: content, headers } = await ask('GET', path)
    expect([status, content, headers.get('content-length'), headers.get('content-type')]).toEqual([
      200,
      'three',
      '5',
      'application/octet-stream',
    ])
  })

  test('can be empty and can be any bytes', async () => {
    const { server, ask, files } = await start()
    await ask('PUT', `${files}/content?path=/tmp/empty`)
    expect((await ask('GET', `${files}/stat?path=/tmp/empty`)).json.size_bytes).toBe(0)
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    await ask('PUT', `${files}/content?path=/tmp/bytes`, { body: bytes, headers: { 'content-type': 'image/png' } })
    const response = await fetch(`${server.url}${files}/content?path=/tmp/bytes`, {
      headers: { authorization: `Bearer ${server.adminKey}` },
    })
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
  })

  test.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=20-30', 416, null, null],
    ['bytes=1-2,4-5', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ])('the range %s is %i', async (range, status, content, contentRange) => {
    const { ask, files } = await start()
    await ask('PUT', `${files}/content?path=/tmp/a`, { body: '0123456789' })
    const answer = await ask('GET', `${files}/content?path=/tmp/a`, { headers: { range } })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([status, contentRange])
    if (content !== null) expect(answer.text).toBe(content)
    else expect(answer.json.error.code).toBe('range_not_satisfiable')
  })

  test('is not replaced with If-None-Match: *', async () => {
    const { ask, files } = await start()
    const write = (match: string) =>
      ask('PUT', `${files}/content?path=/tmp/a`, { body: 'x', headers: { 'if-none-match': match } })
    expect((await write('*')).status).toBe(201)
    expect((await write('*')).json.error.code).toBe('already_exists')
    expect((await write('"etag"')).json.error.details.issues[0].pointer).toBe('/header/If-None-Match')
  })

  test('replaces only the version that If-Match names', async () => {
    const { ask, files } = await start()
    const path = `${files}/content?path=/tmp/a`
    const write = (match: string, body: string) => ask('PUT', path, { body, headers: { 'if-match': match } })
    for (const match of ['*', '"etag"']) expect((await write(match, 'x')).json.error.code).toBe('precondition_failed')
    const { etag } = (await ask('PUT', path, { body: 'one' })).json
    expect((await ask('GET', path)).headers.get('etag')).toBe(etag)
    const second = await write(etag, 'two')
    expect([second.status, second.json.etag === etag]).toEqual([200, false])
    expect((await ask('GET', `${files}/stat?path=/tmp/a`)).json.etag).toBe(second.json.etag)
    const refused = await write(etag, 'three')
    expect([refused.status, refused.json.error.code]).toEqual([412, 'precondition_failed'])
    expect((await ask('GET', path)).text).toBe('two')
    expect((await write('*', 'three')).status).toBe(200)
    const part = await ask('PUT', `${path}&upload_id=upload-1`, { body: 'four', headers: { 'if-match': etag } })
    expect(part.json.error.code).toBe('precondition_failed')
  })

  test.each(['etag', 'W/"etag"', '"a", "b"', '"a b"', ''])('is not written with If-Match: %s', async (match) => {
    const { ask, files } = await start()
    const { json } = await ask('PUT', `${files}/content?path=/tmp/a`, { body: 'x', headers: { 'if-match': match } })
    expect(json.error.details.issues[0].pointer).toBe('/header/If-Match')
  })

  test('is not written with both conditions', async () => {
    const { ask, files } = await start()
    const headers = { 'if-match': '*', 'if-none-match': '*' }
    const { json } = await ask('PUT', `${files}/content?path=/tmp/a`, { body: 'x', headers })
    expect(json.error.details.issues[0].pointer).toBe('/header/If-Match')
  })

  test('is not written with a condition by a guest of an earlier version', async () => {
    const { ask, files, engine } = await start()
    const id = files.split('/').at(-2) ?? ''
    const guest = engine.guest(id)
    if (guest === null) throw new Error('there is no guest')
    const request = guest.request.bind(guest)
    guest.request = (asked) => request({ ...asked, path: asked.path.replace('/if-match', '/of-later') })
    await ask('PUT', `${files}/content?path=/tmp/a`, { body: 'one' })
    const headers = { 'if-match': '*' }
    for (const more of ['', '&upload_id=upload-1']) {
      const { status, json } = await ask('PUT', `${files}/content?path=/tmp/a${more}`, { body: 'x', headers })
      expect([status, json.error.code]).toEqual([501, 'not_supported_here'])
    }
    expect((await ask('GET', `${files}/content?path=/tmp/a`)).text).toBe('one')
  })

  test('of an aborted upload is not written', async () => {
    const { server, ask, files } = await start()
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `PUT ${files}/content?path=/tmp/half HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.adminKey}\r\nContent-Length: 1000\r\n\r\nhalf`,
    )
    await new Promise((resolve) => setImmediate(resolve))
    socket.end()
    await text(socket)
    expect((await ask('GET', `${files}/stat?path=/tmp/half`)).json.error.code).toBe('path_not_found')
  })

  test('of a path that is no file is refused', async () => {
    const { ask, files } = await start()
    expect((await ask('GET', `${files}/content?path=/tmp`)).json.error.code).toBe('is_directory')
    expect((await ask('PUT', `${files}/content?path=/tmp`, { body: 'x' })).json.error.code).toBe('is_directory')
    expect((await ask('GET', `${files}/content?path=/tmp/none`)).json.error.code).toBe('path_not_found')
  })
})

test.each(['copy', 'move'])('%s cannot replace the root directory', async (verb) => {
  const { ask, files } = await start()
  const { status, json } = await ask('POST', `${files}/${verb}`, {
    json: { source: '/workspace', destination: '/', ...(verb === 'copy' ? { recursive: true } : {}), overwrite: true },
  })
  expect([status, json.error.details.issues[0].pointer]).toEqual([400, '/destination'])
})

describe('a tree', () => {
  test('is created, listed, copied, moved and removed', async () => {
    const { ask, files } = await start()
    const post = (verb: string, json: object) => ask('POST', `${files}/${verb}`, { json })
    expect((await post('mkdir', { path: '/workspace/a/b' })).status).toBe(201)
    expect((await post('mkdir', { path: '/workspace/a/b/' })).status).toBe(200)
    expect((await post('mkdir', { path: '/workspace/a/b', parents: false })).json.error.code).toBe('already_exists')
    await ask('PUT', `${files}/content?path=/workspace/a/b/c`, { body: 'c' })
    expect((await post('copy', { source: '/workspace/a', destination: '/workspace/z' })).json.error.code).toBe(
      'is_directory',
    )
    const copied = await post('copy', { source: '/workspace/a', destination: '/workspace/z', recursive: true })
    expect(copied.json).toMatchObject({
      success: true,
      source: '/workspace/a',
      destination: '/workspace/z',
      entry: { type: 'directory' },
    })
    expect(
      (await post('copy', { source: '/workspace/a', destination: '/workspace/z', recursive: true })).json.error.code,
    ).toBe('already_exists')
    expect(
      (await post('copy', { source: '/workspace/a', destination: '/workspace/a/b/x', recursive: true })).status,
    ).toBe(400)
    expect((await post('move', { source: '/workspace/z', destination: '/workspace/y' })).status).toBe(200)
    expect((await post('remove', { path: '/workspace/y' })).json.error.code).toBe('directory_not_empty')
    expect((await post('remove', { path: '/workspace/y', recursive: true })).json).toEqual({
      success: true,
      path: '/workspace/y',
    })
    const { json } = await ask('GET', `${files}/list?path=/workspace&depth=5`)
    expect(json.data.map(({ path }: { path: string }) => path)).toEqual([
      '/workspace/a',
      '/workspace/a/b',
      '/workspace/a/b/c',
    ])
  })

  test('is listed in pages', async () => {
    const { ask, files } = await start()
    const names = ['a', 'b b', 'c%', 'd/é', 'd/🙂']
    for (const name of names)
      await ask('PUT', `${files}/content?path=${encodeURIComponent(`/tmp/${name}`)}`, { body: 'x' })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json } = await ask(
        'GET',
        `${files}/list?path=/tmp&depth=2&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      )
      seen.push(...json.data.map(({ path }: { path: string }) => path))
      cursor = json.next_cursor
    }
    expect(seen).toEqual(['/tmp/a', '/tmp/b b', '/tmp/c%', '/tmp/d', '/tmp/d/é', '/tmp/d/🙂'])
    expect((await ask('GET', `${files}/list?path=/tmp&cursor=!!`)).json.error.details.issues[0].pointer).toBe(
      '/query/cursor',
    )
  })
})

describe('a body with a declared length', () => {
  const read = (chunks: string[], length: number) =>
    text(exactLength(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), length))

  test('is passed through', async () => {
    expect(await read(['ab', 'c'], 3)).toBe('abc')
    expect(await read([], 0)).toBe('')
  })

  test.each([
    [['abc'], 2],
    [['ab'], 3],
    [[], 1],
  ])('of %j breaks if %i were declared', async (chunks, length) => {
    await expect(read(chunks, length)).rejects.toThrow('announced')
  })
})
