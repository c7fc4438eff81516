import { SearchItem, SearchResult } from '@holt/protocol'
import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

async function start() {
  const server = await startTestServer()
  const files = `/v1/agents/runtime/${await server.makeRuntime()}/files`
  for (const [path, body] of Object.entries({ '/workspace/a.ts': 'one\ntwo\n', '/workspace/b.md': 'two two' }))
    await server.ask('PUT', `${files}/content?path=${path}`, { body })
  const post = (verb: string, json: object, headers = {}) => server.ask('POST', `${files}/${verb}`, { json, headers })
  return { ...server, files, post }
}

test('a search by name and by content answers its matches, and whether they are complete', async () => {
  const { post } = await start()
  const byName = SearchResult.parse((await post('search', { path: '/workspace', glob: '*.ts' })).json)
  expect(byName).toMatchObject({ data: [{ path: '/workspace/a.ts', type: 'file', line: null }], truncated: null })
  const content = { pattern: 'TWO', case_sensitive: false }
  const byContent = SearchResult.parse((await post('search', { path: '/workspace', content, max_results: 1 })).json)
  expect(byContent).toMatchObject({ data: [{ line: 2, column: 1, length: 3, text: 'two' }], truncated: 'max_results' })
})

test('a search is streamed on request', async () => {
  const { post } = await start()
  const json = { path: '/workspace', content: { pattern: 'two' } }
  const { text, headers } = await post('search', json, { accept: 'application/x-ndjson' })
  expect(headers.get('content-type')).toBe('application/x-ndjson')
  const items = text
    .trim()
    .split('\n')
    .map((line) => SearchItem.parse(JSON.parse(line)))
  expect(items.map(({ type, cursor }) => `${type} ${cursor}`)).toEqual(['match 1', 'match 2', 'end 2'])
})

test.each([
  [{ path: '/workspace', content: { pattern: 'a\nb' } }, '/content/pattern'],
  [{ path: '/workspace', content: { pattern: '' } }, '/content/pattern'],
  [{ path: '/workspace', type: 'directory', content: { pattern: 'a' } }, '/type'],
  [{ path: '/workspace', max_results: 0 }, '/max_results'],
  [{ path: '/workspace', glob: ['a\0'] }, '/glob'],
  [{ path: '/workspace', timeout_secs: 1e9 }, '/timeout_secs'],
])('a search of %j is refused', async (json, pointer) => {
  const { post } = await start()
  expect((await post('search', json)).json.error.details.issues[0].pointer).toContain(pointer)
})

test('a replacement makes the expected number of changes, or none', async () => {
  const { ask, files, post } = await start()
  const what = { path: '/workspace', pattern: 'two', replacement: 'three' }
  expect((await post('replace', { ...what, expected_count: 2 })).json.error.code).toBe('conflict')
  expect((await post('replace', { ...what, dry_run: true })).json).toMatchObject({ total_count: 3, dry_run: true })
  expect((await ask('GET', `${files}/content?path=/workspace/b.md`)).text).toBe('two two')
  const { json } = await post('replace', { ...what, expected_count: 3 })
  expect(json.files).toEqual([
    { path: '/workspace/a.ts', count: 1, error: null },
    { path: '/workspace/b.md', count: 2, error: null },
  ])
  expect((await ask('GET', `${files}/content?path=/workspace/b.md`)).text).toBe('three three')
  for (const wrong of [{ paths: ['/workspace/a.ts'] }, { path: undefined }])
    expect((await post('replace', { ...what, ...wrong })).json.error.details.issues[0].pointer).toBe('/paths')
})

test('a plain text to replace may be long, and an expression may not', async () => {
  const { post } = await start()
  const what = { paths: ['/workspace/a.ts'], pattern: 'x'.repeat(65_536), replacement: '' }
  expect((await post('replace', what)).json).toMatchObject({ total_count: 0 })
  for (const more of [{ pattern: 'x'.repeat(65_537) }, { regex: true }, { case_sensitive: false }])
    expect((await post('replace', { ...what, ...more })).json.error.details.issues[0].pointer).toBe('/pattern')
})

test('symlinks, modes and owners can be set', async () => {
  const { post } = await start()
  const link = { path: '/workspace/link', target: '../x' }
  expect((await post('symlink', link)).json).toMatchObject({ type: 'symlink', symlink_target: '../x' })
  expect((await post('symlink', link)).json.error.code).toBe('already_exists')
  expect((await post('symlink', { ...link, overwrite: true })).status).toBe(200)
  expect((await post('symlink', { ...link, path: '/', overwrite: true })).json.error.details.issues[0].pointer).toBe(
    '/path',
  )
  for (const target of ['', 'a\0b', 'x'.repeat(4096)])
    expect((await post('symlink', { ...link, target })).json.error.details.issues[0].pointer).toBe('/target')
  const moded = await post('chmod', { path: '/workspace/a.ts', mode: '700' })
  expect(moded.json).toMatchObject({ success: true, path: '/workspace/a.ts', changed: 1, entry: { mode: '0700' } })
  const owned = await post('chown', { path: '/workspace', user: '7:8', recursive: true })
  expect(owned.json).toMatchObject({ changed: 4, entry: { uid: 7 } })
  expect((await post('chown', { path: '/workspace', user: 'a b' })).json.error.details.issues[0].pointer).toBe('/user')
})
