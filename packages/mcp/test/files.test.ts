import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { type OpenClient, openClient, textOf } from './support/open-client.ts'

let service: TestService
let opened: OpenClient
beforeEach(async () => {
  service = await startTestService()
  opened = await openClient(service)
  await opened.holt.runtimes.create({ name: 'mine' })
})
afterEach(() => service.close())

const text = (name: string, args: object) => opened.text(name, { runtime: 'mine', ...args })
const call = (name: string, args: object) => opened.call(name, { runtime: 'mine', ...args })
const write = (path: string, content: string) => text('write_file', { path, content })

/** A PNG of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='

test('writes and reads a file as it is', async () => {
  const content = 'one\r\n  two\t\n\nünïcode'
  expect(await write('/w/a.txt', content)).toMatch(/^Wrote \/w\/a\.txt: \d+ bytes\.$/)
  expect(await call('read_file', { path: '/w/a.txt' })).toMatchObject({ content: [{ type: 'text', text: content }] })
  expect((await call('write_file', { path: '/w/a.txt', content: '', overwrite: false })).isError).toBe(true)
  expect(await write('/w/empty', '')).toContain('0 bytes')
  expect(await text('read_file', { path: '/w/empty' })).toBe('[/w/empty is empty]')
})

test('reads a long file in parts that join to the whole', async () => {
  const content = Array.from({ length: 9000 }, (_, index) => `line ${index + 1}\n`).join('')
  await write('/w/long', content)
  const parts: string[] = []
  for (let start: number | undefined = 1; start !== undefined; ) {
    const { content: blocks } = await call('read_file', { path: '/w/long', start_line: start, max_lines: 5000 })
    const [part, note] = blocks.map((block) => (block.type === 'text' ? block.text : ''))
    parts.push(part ?? '')
    const next = /start_line (\d+)/.exec(note ?? '')?.[1]
    start = next === undefined ? undefined : Number(next)
  }
  expect(parts.length).toBeGreaterThan(2)
  expect(parts.join('')).toBe(content)
})

test('a line that is too long is cut, with a note', async () => {
  await write('/w/line', `short\n${'x'.repeat(100_000)}\nend\n`)
  const read = await text('read_file', { path: '/w/line' })
  expect(read).toContain('short\n')
  const rest = await text('read_file', { path: '/w/line', start_line: 2 })
  expect(rest).toContain('[Line 2 is cut.')
  expect(await text('read_file', { path: '/w/line', start_line: 3 })).toBe('end\n')
  expect(await text('read_file', { path: '/w/line', start_line: 9 })).toMatch(/^\[The file has/)
})

test('an image is an image, and other bytes are described', async () => {
  await text('write_file', { path: '/w/pixel.png', content: pixel, encoding: 'base64' })
  expect(await call('read_file', { path: '/w/pixel.png' })).toMatchObject({
    content: [{ type: 'image', mimeType: 'image/png', data: pixel }],
  })
  await text('write_file', { path: '/w/bytes', content: Buffer.from([1, 0, 2]).toString('base64'), encoding: 'base64' })
  expect(await text('read_file', { path: '/w/bytes' })).toContain('is a binary file of 3 bytes')
})

test('content that is not base64 is refused, and nothing is written', async () => {
  for (const content of ['no base64!', 'iVBORw0KGgo=oAAAA', '😀'])
    expect(textOf(await call('write_file', { path: '/w/bad', content, encoding: 'base64' }))).toContain(
      'content is not base64.',
    )
  expect((await call('read_file', { path: '/w/bad' })).isError).toBe(true)
  expect(await text('write_file', { path: '/w/lines', content: 'aGVs\nbG8=\n', encoding: 'base64' })).toContain(
    '5 bytes',
  )
})

test('a list of very long names has a short result, with a note', async () => {
  const path = `/${'x'.repeat(250)}`.repeat(15)
  for (let at = 10; at < 60; at++) await write(`${path}/${at}`, '')
  const listed = await text('list_files', { path })
  expect(listed.length).toBeLessThan(135_000)
  expect(listed).toMatch(/\n\[… \d+,\d+ bytes left out\. Ask for less: a narrower path, or fewer results …\]\n/)
  expect(listed.endsWith('59')).toBe(true)
})

test('edits an exact text, as often as it is expected', async () => {
  await write('/w/code.py', 'a = 1\nb = 1\nc = 2\n')
  expect(await text('edit_file', { path: '/w/code.py', old_text: 'a = 1\nb', new_text: 'a = $1\nb' })).toBe(
    'Edited /w/code.py: 1 place.',
  )
  const twice = await call('edit_file', { path: '/w/code.py', old_text: ' = ', new_text: ' := ' })
  expect(twice.isError).toBe(true)
  expect(textOf(twice)).toMatch(/occurs 3 times[\s\S]*code: conflict/)
  expect(await text('read_file', { path: '/w/code.py' })).toBe('a = $1\nb = 1\nc = 2\n')
  expect(await text('edit_file', { path: '/w/code.py', old_text: ' = ', new_text: '=', expected_count: 3 })).toContain(
    '3 places',
  )
})

test('lists, searches and copies', async () => {
  await write('/w/src/a.py', 'needle here\nnothing\n')
  await write('/w/src/b.py', 'x\n')
  const listed = await text('list_files', { path: '/w', depth: 2 })
  expect(listed).toMatch(/directory +\d+ \/w\/src\nfile +20 \/w\/src\/a\.py/)
  expect(await text('search_files', { path: '/w/src/a.py', content: 'needle' })).toBe('/w/src/a.py:1: needle here')
  expect(await text('search_files', { path: '/w/src/a.py', content: 'absent' })).toBe('Nothing matches.')
  expect((await call('copy_files', { source: '/w/src', destination: '/w/copy' })).isError).toBe(true)
  await text('copy_files', { source: '/w/src', destination: '/w/copy', recursive: true })
  expect(await text('read_file', { path: '/w/copy/b.py' })).toBe('x\n')
})

test('files are resources, as text or as bytes', async () => {
  const { client } = opened
  await write('/w/a file.txt', 'text')
  await text('write_file', { path: '/w/pixel', content: pixel, encoding: 'base64' })
  const { resourceTemplates } = await client.listResourceTemplates()
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'holt://runtimes/{runtime}/files/{+path}',
    'holt://runtimes/{runtime}/commands/{command}/output',
  ])
  const read = async (path: string) =>
    (await client.readResource({ uri: `holt://runtimes/mine/files${path}` })).contents[0]
  expect(await read('/w/a%20file.txt')).toMatchObject({ text: 'text' })
  expect(await read('/w/pixel')).toMatchObject({ mimeType: 'image/png', blob: pixel })
  await expect(read('/w/none')).rejects.toThrow(/none/)
  await write('/w/large', 'x'.repeat(1_100_000))
  await expect(read('/w/large')).rejects.toThrow(/1,048,576/)
})

test('the guide is a resource', async () => {
  const { resources } = await opened.client.listResources()
  expect(resources).toMatchObject([{ uri: 'holt://docs', mimeType: 'text/markdown' }])
  const { contents } = await opened.client.readResource({ uri: 'holt://docs' })
  expect(contents).toMatchObject([{ text: expect.stringContaining('create_runtime') }])
})

test('diff_files lists changes and the patch, and names the next page', async () => {
  const first = await call('diff_files', { path: '/w', patch: true })
  expect(first.content).toMatchObject([
    { text: 'added        /w/a' },
    { text: 'diff --git a/w/a b/w/a\n' },
    { text: expect.stringContaining('cursor "next"') },
  ])
  expect(await text('diff_files', { path: '/w', cursor: 'next' })).toBe('added        /w/b')
})

test('diff_files says what it leaves out', async () => {
  const cut = 'Entries with paths of more than 4,096 bytes are left out.'
  expect(await text('diff_files', { path: '/cut' })).toBe(cut)
  const patched = await call('diff_files', { path: '/cut', patch: true })
  expect(patched.content).toContainEqual({
    type: 'text',
    text: expect.stringMatching(`The patch does not show every file.*\n${cut}`),
  })
})
