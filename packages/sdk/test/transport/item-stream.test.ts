import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEvents } from '../../src/transport/item-stream.ts'

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
