import { gunzipSync } from 'node:zlib'
import { WatchItem } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

async function start(): Promise<TestServer & { files: string; readonly runtimeId: string }> {
  const server = await startTestServer()
  const runtimeId = await server.makeRuntime()
  return { ...server, runtimeId, files: `/v1/agents/runtime/${runtimeId}/files` }
}

describe('an archive', () => {
  async function download({ server, files }: { server: TestServer['server']; files: string }, query: string) {
    const response = await fetch(`${server.url}${files}/archive?${query}`, {
      headers: { authorization: `Bearer ${server.adminKey}` },
    })
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) }
  }

  test('is downloaded as tar and as tar.gz, and extracted to the same tree', async () => {
    const service = await start()
    const { ask, files } = service
    await ask('PUT', `${files}/content?path=/workspace/a/b`, { body: 'content' })
    const tar = await download(service, 'path=/workspace/a')
    expect([tar.response.status, tar.response.headers.get('content-type')]).toEqual([200, 'application/x-tar'])
    const zip = await download(service, 'path=/workspace/a&format=tar.gz')
    expect(zip.response.headers.get('content-type')).toBe('application/gzip')
    expect(gunzipSync(zip.bytes).equals(tar.bytes)).toBe(true)
    const made = await ask('PUT', `${files}/archive?path=/workspace/new`, { body: zip.bytes })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ success: true, path: '/workspace/new', files: 1, size_bytes: 7 })
    expect((await ask('GET', `${files}/content?path=/workspace/new/b`)).text).toBe('content')
  })

  test('replaces or merges only on request', async () => {
    const service = await start()
    const { ask, files } = service
    await ask('PUT', `${files}/content?path=/workspace/a/b`, { body: 'new' })
    await ask('PUT', `${files}/content?path=/workspace/c/kept`, { body: 'old' })
    const { bytes } = await download(service, 'path=/workspace/a')
    const put = (how: string) => ask('PUT', `${files}/archive?path=/workspace/c${how}`, { body: bytes })
    expect((await put('')).json.error.code).toBe('already_exists')
    expect((await put('&merge=true')).status).toBe(200)
    expect((await ask('GET', `${files}/content?path=/workspace/c/kept`)).text).toBe('old')
    expect((await put('&overwrite=1')).status).toBe(200)
    expect((await ask('GET', `${files}/stat?path=/workspace/c/kept`)).json.error.code).toBe('path_not_found')
  })

  test('that is invalid is an error with the reason', async () => {
    const { ask, files } = await start()
    const put = (query: string, body: Uint8Array = new Uint8Array(100)) =>
      ask('PUT', `${files}/archive?${query}`, { body })
    expect((await put('path=/new')).json.error.code).toBe('invalid_archive')
    expect((await put('path=/new', new Uint8Array(512).fill(1))).json.error.code).toBe('invalid_archive')
    expect((await ask('GET', `${files}/archive?path=/none`)).json.error.code).toBe('path_not_found')
    const wrong = await put('path=x&format=zip&max_entries=0&user=a%20b&merge=maybe')
    expect(wrong.json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/query/format',
      '/query/max_entries',
      '/query/merge',
      '/query/path',
      '/query/user',
    ])
    const both = await put('path=/new&merge=1&overwrite=1&keep_owners=1&user=root')
    expect(both.json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/query/merge',
      '/query/user',
    ])
  })
})

describe('a watch', () => {
  async function* watch(
    { server, files }: { server: TestServer['server']; files: string },
    query: string,
    accept?: string,
  ) {
    const response = await fetch(`${server.url}${files}/watch?${query}`, {
      headers: { authorization: `Bearer ${server.adminKey}`, ...(accept === undefined ? {} : { accept }) },
    })
    expect(response.status).toBe(200)
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const data = accept === undefined ? line : line.startsWith('data: ') ? line.slice(6) : ''
        if (data !== '') yield WatchItem.parse(JSON.parse(data))
      }
    }
  }

  test.each([undefined, 'text/event-stream'])('reports changes, as %s, and continues at a cursor', async (accept) => {
    const service = await start()
    const { ask, files } = service
    const seen: WatchItem[] = []
    for await (const item of watch(service, 'path=/workspace&recursive=true', accept)) {
      seen.push(item)
      if (item.type !== 'start') continue
      await ask('PUT', `${files}/content?path=/workspace/d/f`, { body: 'x' })
      await ask('PUT', `${files}/content?path=/tmp/elsewhere`, { body: 'x' })
      await ask('PUT', `${files}/content?path=/workspace/d/f`, { body: 'y' })
      await ask('POST', `${files}/move`, { json: { source: '/workspace/d/f', destination: '/workspace/g' } })
      await ask('POST', `${files}/remove`, { json: { path: '/workspace', recursive: true } })
    }
    expect(seen.map(({ type }) => type)).toEqual(['start', 'created', 'modified', 'moved', 'removed', 'end'])
    expect(seen[3]).toMatchObject({ path: '/workspace/g', from: '/workspace/d/f', directory: false })
    await ask('POST', `${files}/mkdir`, { json: { path: '/workspace' } })
    const again: string[] = []
    for await (const { type } of watch(service, `path=/workspace&recursive=1&cursor=${seen[2]?.cursor}`)) {
      again.push(type)
      if (type === 'end') break
    }
    expect(again).toEqual(['moved', 'removed', 'end'])
    for await (const { type } of watch(service, 'path=/workspace&cursor=1000')) {
      expect(type).toBe('overflow')
      break
    }
  })

  test('of a path that is not a directory is refused', async () => {
    const { ask, files } = await start()
    await ask('PUT', `${files}/content?path=/tmp/f`, { body: 'x' })
    expect((await ask('GET', `${files}/watch?path=/tmp/f`)).json.error.code).toBe('not_a_directory')
    expect((await ask('GET', `${files}/watch?path=/none`)).json.error.code).toBe('path_not_found')
    expect((await ask('GET', `${files}/watch?path=/tmp&cursor=-1`)).json.error.details.issues[0].pointer).toBe(
      '/query/cursor',
    )
  })

  test('is cut when its runtime ends', async () => {
    const service = await start()
    const started = Promise.withResolvers<void>()
    const reading = (async () => {
      for await (const { type } of watch(service, 'path=/tmp')) if (type === 'start') started.resolve()
    })()
    const cut = expect(reading).rejects.toThrow()
    await started.promise
    await service.ask('DELETE', `/v1/agents/runtime/${service.runtimeId}`)
    await cut
  })
})
