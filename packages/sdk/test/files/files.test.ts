import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
})
afterEach(() => service.close())

test('writes and reads text and bytes', async () => {
  await runtime.files.write('/d/text', 'grüße', { mode: '0600' })
  expect(await runtime.files.readText('/d/text')).toBe('grüße')
  const bytes = Uint8Array.of(0, 255, 10)
  expect(await runtime.files.write('/d/bytes', bytes)).toMatchObject({ path: '/d/bytes', size_bytes: 3 })
  expect(await runtime.files.read('/d/bytes')).toEqual(bytes)
  expect((await runtime.files.stat('/d/text')).mode).toBe('0600')
})

test('writes from a stream and reads as one', async () => {
  const size = 3_000_000
  const stream = () => new Blob([new Uint8Array(size)]).stream()
  await runtime.files.write('/big', stream)
  let read = 0
  for await (const chunk of await runtime.files.readStream('/big')) read += chunk.length
  expect(read).toBe(size)
})

test('a write from a function is repeated as a whole after a lost answer', async () => {
  service.faults.push({ route: 'writeFile', type: 'lose' })
  await runtime.files.write('/again', () => new Blob(['all of it']).stream())
  expect(await runtime.files.readText('/again')).toBe('all of it')
  expect(service.count('writeFile')).toBe(2)
})

test.each([
  ['makeDirectory', () => runtime.files.makeDirectory('/d/new')],
  ['makeSymlink', () => runtime.files.symlink('/d/new', '/etc')],
  ['copyFile', () => runtime.files.copy('/d/file', '/d/new')],
  ['moveFile', () => runtime.files.move('/d/file', '/d/new')],
  ['startCommand', () => runtime.commands.start('true')],
] as const)('a retry of %s after a lost answer has no second effect', async (route, make) => {
  await runtime.files.write('/d/file', 'text')
  service.faults.push({ route, type: 'lose' })
  await make()
  const keys = service.calls.filter((call) => call.route === route).map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([expect.any(String), keys[0]])
})

test.each(['text', ''])('a write of %j without overwrite recognises its own file after a lost answer', async (text) => {
  service.faults.push({ route: 'writeFile', type: 'lose' })
  expect(await runtime.files.write('/new', text, { overwrite: false })).toMatchObject({ path: '/new' })
  expect(await runtime.files.readText('/new')).toBe(text)
  await expect(runtime.files.write('/new', 'other', { overwrite: false })).rejects.toThrow(
    expect.objectContaining({ code: 'already_exists' }),
  )
})

test('an extract with a lost answer rejects with the reason lost', async () => {
  await runtime.files.write('/d/file', 'text')
  const bytes = new Uint8Array(await new Response(await runtime.files.archive('/d')).arrayBuffer())
  service.faults.push({ route: 'writeArchive', type: 'lose' })
  await expect(runtime.files.extract('/made', bytes)).rejects.toThrow(expect.objectContaining({ reason: 'lost' }))
  await expect(runtime.files.extract('/made', bytes)).rejects.toThrow(
    expect.objectContaining({ code: 'already_exists' }),
  )
})

test('reads a range', async () => {
  await runtime.files.write('/text', '0123456789')
  expect(await runtime.files.readText('/text', { start: 2, end: 5 })).toBe('234')
  expect(await runtime.files.readText('/text', { start: 7 })).toBe('789')
  expect(await runtime.files.readText('/text', { end: 3 })).toBe('012')
})

test('refuses to replace on request', async () => {
  await runtime.files.write('/once', '1', { overwrite: false })
  await expect(runtime.files.write('/once', '2', { overwrite: false })).rejects.toMatchObject({
    code: 'already_exists',
  })
})

test('edits an exact text that occurs as often as expected', async () => {
  await runtime.files.write('/code', 'a = $1\nb = $1\n')
  expect(await runtime.files.edit('/code', 'a = $1\nb', 'c')).toMatchObject({ total_count: 1 })
  expect(await runtime.files.readText('/code')).toBe('c = $1\n')
  await runtime.files.write('/code', 'x x')
  await expect(runtime.files.edit('/code', 'x', 'y')).rejects.toMatchObject({ code: 'conflict' })
  await expect(runtime.files.edit('/code', 'z', 'y')).rejects.toMatchObject({ code: 'conflict' })
  expect(await runtime.files.readText('/code')).toBe('x x')
  expect(await runtime.files.edit('/code', 'x', '', { expected_count: 2 })).toMatchObject({ total_count: 2 })
  expect(await runtime.files.readText('/code')).toBe(' ')
})

test('copies, moves, lists, creates and removes', async () => {
  await runtime.files.makeDirectory('/tree/sub')
  await runtime.files.write('/tree/sub/file', 'x')
  await expect(runtime.files.copy('/tree', '/copy')).rejects.toMatchObject({ code: 'is_directory' })
  expect(await runtime.files.copy('/tree', '/copy', { recursive: true })).toMatchObject({
    success: true,
    destination: '/copy',
  })
  await runtime.files.move('/copy', '/moved')
  const paths = (await runtime.files.list('/moved', { depth: 8, limit: 1 }).all()).map((entry) => entry.path)
  expect(paths).toEqual(['/moved/sub', '/moved/sub/file'])
  expect(await runtime.files.exists('/copy')).toBe(false)
  await runtime.files.remove('/moved', { recursive: true })
  expect(await runtime.files.exists('/moved')).toBe(false)
})

test('only a missing file counts as absent', async () => {
  await runtime.delete()
  await expect(runtime.files.exists('/x')).rejects.toMatchObject({ code: 'runtime_terminated' })
})
