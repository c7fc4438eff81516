import { expect, test } from 'vitest'
import { bytesInUse } from '../../../async/test/support/pieces.ts'
import { readRequestHead } from '../../src/http/request-head.ts'
import { RequestRecord } from '../../src/session/request-record.ts'

test('keeps the requested name and path, and not the whole head', async () => {
  const record = new RequestRecord()
  const before = await bytesInUse()
  for (let n = 0; n < 1000; n += 1) {
    const fields = `Host: a.example.com\r\nX-Long: ${'x'.repeat(30_000)}`
    const head = readRequestHead(Buffer.from(`GET /a/path/of/its/own/${n}?q HTTP/1.1\r\n${fields}`))
    if (head.type === 'bad') throw new Error(head.why)
    record.add(head.method, head.path)
  }
  expect((await bytesInUse()) - before).toBeLessThan(8 * 2 ** 20)
  const reading = {
    name: 'reading',
    host: 'a.example.com',
    ports: [80],
    allPorts: false,
    protocol: null,
    methods: ['GET'],
  }
  expect(record.areAllowed([{ ...reading, paths: ['/a/path/*'] }])).toBe(true)
  expect(record.areAllowed([{ ...reading, paths: ['/a/path/of/its/own/1'] }])).toBe(false)
})
