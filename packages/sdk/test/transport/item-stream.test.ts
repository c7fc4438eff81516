import fc from 'fast-check'
import { expect, test } from 'vitest'
import { errorOfAnswer, HoltConnectionError } from '../../src/index.ts'
import { mayResume, readEvents } from '../../src/transport/item-stream.ts'

async function read(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  const items: unknown[] = []
  for await (const item of readEvents(new Response(body))) items.push(item)
  return items
}

test('events are parsed completely, wherever the bytes are split', async () => {
  const items = fc.array(fc.record({ data: fc.string({ unit: 'grapheme' }), cursor: fc.nat() }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      items,
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.constantFrom('\n', '\r\n'),
      async (sent, cuts, newline) => {
        const lines = sent.flatMap((item) => [': quiet', '', 'event: x', `data: ${JSON.stringify(item)}`, ''])
        const bytes = new TextEncoder().encode(lines.map((line) => line + newline).join(''))
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
          (left, right) => left - right,
        )
        const chunks = places.slice(1).map((place, index) => bytes.subarray(places[index], place))
        expect(await read(chunks.filter((chunk) => chunk.length > 0))).toEqual(sent)
      },
    ),
  )
})

test('a truncated event is not yielded', async () => {
  const bytes = new TextEncoder().encode('data: {"a":1}\n\ndata: {"a":2}\n')
  expect(await read([bytes])).toEqual([{ a: 1 }])
})

test.each([
  ['the service stops', 503, { 'x-request-id': 'rq1' }, true],
  ['a proxy finds no service', 502, {}, true],
  ['a proxy waits too long', 504, {}, true],
  ['the service says that a port is closed', 502, { 'x-request-id': 'rq1' }, false],
  ['the service took too long', 504, { 'x-request-id': 'rq1' }, false],
  ['the command is gone', 404, { 'x-request-id': 'rq1' }, false],
])('a stream resumes or not after an answer: %s', (_, status, headers, resumes) => {
  expect(mayResume(errorOfAnswer(new Response('', { status, headers }), ''))).toBe(resumes)
})

test('a stream resumes after a broken connection, and not after a time limit', () => {
  expect([new HoltConnectionError('lost', ''), new HoltConnectionError('timeout', '')].map(mayResume)).toEqual([
    true,
    false,
  ])
})
