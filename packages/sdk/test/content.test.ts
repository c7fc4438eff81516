import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileSource, Holt, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

const MiB = 2 ** 20

let service: TestService
let runtime: Runtime
/** The faults of requests, one after the other. Later requests have none. */
let faults: ((input: URL, init: RequestInit) => Promise<Response>)[]
beforeEach(async () => {
  service = await startTestService()
  faults = []
  const fetch = (input: unknown, init: unknown) =>
    (faults.shift() ?? globalThis.fetch)(input as URL, (init ?? {}) as RequestInit)
  runtime = await new Holt({ url: service.url, apiKey: service.key, fetch: fetch as never }).runtimes.create()
})
afterEach(() => service.close())

/** Lets so much of an upload through, then breaks. */
function cutUpload(bytes: number) {
  return async (input: URL, init: RequestInit): Promise<Response> => {
    const content = new Uint8Array(await new Response(init.body).arrayBuffer()).subarray(0, bytes)
    const url = new URL(input)
    url.searchParams.set('partial', '1')
    const { duplex: _, ...rest } = init as RequestInit & { duplex?: string }
    await globalThis.fetch(url, { ...rest, body: content })
    throw new TypeError('fetch failed')
  }
}

/** Lets so much of an answer through, then breaks. */
function cutDownload(bytes: number) {
  return async (input: URL, init: RequestInit): Promise<Response> => {
    const response = await globalThis.fetch(input, init)
    const content = new Uint8Array(await response.arrayBuffer()).subarray(0, bytes)
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(content),
      pull: (controller) => controller.error(new TypeError('terminated')),
    })
    return new Response(broken, { status: response.status, headers: response.headers })
  }
}

const content = () => new Uint8Array(Buffer.alloc(9 * MiB, 'a line of text that repeats\n'))

test('a large write continues after a break', async () => {
  faults.push(cutUpload(3 * MiB), globalThis.fetch, cutUpload(2 * MiB))
  const sha256 = createHash('sha256').update(content()).digest('hex')
  expect(await runtime.files.write('/big', content(), { sha256 })).toMatchObject({ path: '/big', size_bytes: 9 * MiB })
  expect(Buffer.from(await runtime.files.read('/big')).equals(content())).toBe(true)
  const sent = service.calls.filter(({ route }) => route === 'writeFile')
  expect(sent.map(({ headers }) => Number(headers['content-length'] ?? 0))).toEqual([3 * MiB, 2 * MiB, 4 * MiB])
})

test('a large write with a lost answer is not sent again', async () => {
  service.faults.push({ route: 'writeFile', type: 'lose' })
  expect(await runtime.files.write('/big', content())).toMatchObject({ size_bytes: 9 * MiB })
  expect(service.count('writeFile')).toBe(1)
})

test('a refused large write is not retried, and leaves nothing', async () => {
  const wrong = runtime.files.write('/big', content(), { sha256: '0'.repeat(64) })
  await expect(wrong).rejects.toMatchObject({ code: 'digest_mismatch' })
  expect(service.count('writeFile')).toBe(1)
  expect(service.count('abortUpload')).toBe(1)
})

test('reports the progress of a write', async () => {
  const told: number[] = []
  faults.push(cutUpload(4 * MiB))
  await runtime.files.write('/big', content(), { onProgress: (bytes) => told.push(bytes) })
  expect(told).toContain(0)
  expect(told).toContain(4 * MiB)
  expect(told.at(-1)).toBe(9 * MiB)
})

test('content in memory is sent as blobs, which browsers can send over HTTP/1.1', async () => {
  const bodies: unknown[] = []
  const watch = (input: URL, init: RequestInit) => {
    if (init.method === 'PUT') bodies.push(init.body)
    return globalThis.fetch(input, init)
  }
  faults.push(...Array.from({ length: 20 }, () => watch))
  const told: number[] = []
  const onProgress = (bytes: number) => told.push(bytes)
  await runtime.files.write('/small', new Blob(['small']), { overwrite: false, onProgress })
  await runtime.files.write('/small', 'smaller', { onProgress })
  await runtime.files.write('/none', new Blob([]), { overwrite: false, onProgress })
  expect(told).toEqual([0, 5, 0, 7, 0, 0])
  told.length = 0
  await runtime.files.write('/big', new Blob([content()]), { onProgress })
  expect(told).toEqual([0, 4 * MiB, 4 * MiB, 8 * MiB, 8 * MiB, 9 * MiB])
  expect(bodies.filter((body) => body instanceof ReadableStream)).toEqual([])
  expect(Buffer.from(await runtime.files.read('/big')).equals(content())).toBe(true)
})

test('a write with the etag of a version replaces only that version', async () => {
  await runtime.files.write('/file', 'one')
  const { bytes, etag } = await runtime.files.readVersion('/file')
  expect(Buffer.from(bytes).toString()).toBe('one')
  const written = await runtime.files.write('/file', 'two', { ifMatch: etag })
  expect(written.etag).toBe((await runtime.files.stat('/file')).etag)
  await expect(runtime.files.write('/file', 'three', { ifMatch: etag })).rejects.toMatchObject({
    code: 'precondition_failed',
    httpStatus: 412,
  })
  await expect(runtime.files.write('/none', 'x', { ifMatch: '*' })).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  expect(await runtime.files.readText('/file')).toBe('two')
  service.faults.push({ route: 'writeFile', type: 'lose' })
  // The first try has replaced the version. The client knows its own upload.
  expect(await runtime.files.write('/file', 'four', { ifMatch: written.etag })).toMatchObject({ size_bytes: 4 })
})

test('a read continues after a break', async () => {
  await runtime.files.write('/big', content())
  faults.push(cutDownload(3 * MiB), cutDownload(2 * MiB))
  expect(Buffer.from(await runtime.files.read('/big')).equals(content())).toBe(true)
  expect(service.calls.filter(({ route }) => route === 'readFile').map(({ headers }) => headers.range)).toEqual([
    undefined,
    `bytes=${3 * MiB}-${9 * MiB - 1}`,
    `bytes=${5 * MiB}-${9 * MiB - 1}`,
  ])
  faults.push(cutDownload(2))
  expect(await runtime.files.readText('/big', { start: 2, end: 6 })).toBe('line')
})

test('a file that changes during a read is a conflict, not a mixture', async () => {
  await runtime.files.write('/file', 'old content')
  faults.push(async (input, init) => {
    const response = await cutDownload(3)(input, init)
    await writeFile(service.place(runtime.runtime_id, '/file'), 'new content')
    return response
  })
  await expect(runtime.files.readText('/file')).rejects.toMatchObject({ code: 'conflict' })
})

test('accepts and returns Node streams', async () => {
  await runtime.files.write('/streamed', Readable.from(['one ', Buffer.from('two')]))
  let text = ''
  for await (const chunk of await runtime.files.readNodeStream('/streamed')) text += chunk
  expect(text).toBe('one two')
})

test.each([0, 10, 9 * MiB])('writes a local file of %i bytes', async (size) => {
  const folder = await mkdtemp(join(tmpdir(), 'holt-source-'))
  try {
    await writeFile(join(folder, 'file'), content().subarray(0, size))
    faults.push(size > 10 ? cutUpload(5 * MiB) : globalThis.fetch)
    const source = await fileSource(join(folder, 'file'))
    expect(await runtime.files.write('/sent', source)).toMatchObject({ size_bytes: size })
    expect(Buffer.from(await runtime.files.read('/sent')).equals(content().subarray(0, size))).toBe(true)
    await expect(fileSource(folder)).rejects.toThrow('not a regular file')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('links, searches and replaces', async () => {
  await runtime.files.write('/text', 'one\ntwo two\n')
  expect(await runtime.files.symlink('/link', 'text')).toMatchObject({ symlink_target: 'text' })
  expect(await runtime.files.chmod('/text', '0600')).toMatchObject({ changed: 1, entry: { mode: '0600' } })
  expect(await runtime.files.chown('/text', 'root')).toMatchObject({ changed: 1 })
  const { data } = await runtime.files.search('/text', { content: { pattern: 'two' } })
  expect(data).toMatchObject([{ line: 2, column: 1 }])
  const items = await Array.fromAsync(runtime.files.searchStream('/text', { content: { pattern: 'o' } }))
  expect(items.map(({ type }) => type)).toEqual(['match', 'match', 'end'])
  await runtime.files.replace({ paths: ['/text'], pattern: 'two', replacement: 'three' })
  expect(await runtime.files.readText('/text')).toBe('one\nthree three\n')
})
