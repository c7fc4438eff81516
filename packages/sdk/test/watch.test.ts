import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import type { WatchItem } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
})
afterEach(() => service.close())

function tell(...items: WatchItem[]): void {
  service.changes.push(...items)
  service.changed.emit('changed')
}
const created = (cursor: number): WatchItem => ({ type: 'created', cursor, path: `/w/${cursor}`, directory: false })

describe('a watch', () => {
  test('reports changes until its end', async () => {
    const seen: string[] = []
    for await (const item of runtime.files.watch('/w', { recursive: true })) {
      seen.push(item.type)
      if (item.type === 'start') tell(created(1), { type: 'overflow', cursor: 2 }, { type: 'end', cursor: 3 })
    }
    expect(seen).toEqual(['start', 'created', 'overflow', 'end'])
  })

  test('continues after its last item when the connection breaks', async () => {
    tell(created(1), created(2), created(3), { type: 'end', cursor: 4 })
    service.faults.push({ route: 'watchFiles', type: 'cut', items: 2 })
    const seen: number[] = []
    for await (const item of runtime.files.watch('/w', { cursor: 0 })) seen.push(item.cursor)
    expect(seen).toEqual([1, 2, 3, 4])
    expect(service.count('watchFiles')).toBe(2)
  })

  test('ends with its signal', async () => {
    const controller = new AbortController()
    const watching = (async () => {
      for await (const item of runtime.files.watch('/w', { signal: controller.signal }))
        if (item.type === 'start') controller.abort(new Error('enough'))
    })()
    await expect(watching).rejects.toThrow('enough')
  })
})

describe('an archive', () => {
  test('is sent and received as a Web stream, a Node stream, bytes and a function', async () => {
    await runtime.files.write('/tree/file', 'content')
    const web = await runtime.files.archive('/tree')
    await runtime.files.extract('/web', web)
    const node = await runtime.files.archiveNodeStream('/tree', { format: 'tar.gz' })
    expect(node).toBeInstanceOf(Readable)
    await runtime.files.extract('/node', node, { format: 'tar.gz' })
    const bytes = new Uint8Array(await buffer(await runtime.files.archive('/tree')))
    await runtime.files.extract('/bytes', bytes)
    service.faults.push({ route: 'writeArchive', type: 'refuse', code: 'unavailable', headers: { 'retry-after': '0' } })
    await runtime.files.extract('/again', () => new Blob([bytes]).stream())
    for (const place of ['/web', '/node', '/bytes', '/again'])
      expect(await text(await runtime.files.readStream(`${place}/file`))).toBe('content')
    await expect(runtime.files.extract('/bytes', bytes)).rejects.toMatchObject({ code: 'already_exists' })
    await runtime.files.extract('/bytes', bytes, { merge: true })
    await expect(runtime.files.extract('/x', new Uint8Array(100))).rejects.toMatchObject({ code: 'invalid_archive' })
  })
})
