import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { earlyHints } from '../../../src/inside/ports/early-hints.ts'

/**
 * Passes on an early answer with these `Link` headers, and returns what Node gets and whether it
 * takes it.
 */
function given(...headers: readonly string[]): { readonly links: unknown[]; readonly isTaken: boolean } {
  const request = new IncomingMessage(new Socket())
  request.httpVersion = '1.1'
  const response = new ServerResponse(request)
  const write = vi.spyOn(response, 'writeEarlyHints')
  const pass = earlyHints(request, response)
  for (const link of headers) pass({ statusCode: 103, headers: { link } } as never)
  return {
    links: write.mock.calls.map(([{ link }]) => link),
    isTaken: write.mock.results.every(({ type }) => type === 'return'),
  }
}

// Each parameter doubles the time in which Node finds out that it does not take such a link: with
// forty it takes a day.
test.each([
  ['a parameter that no link has', ' x y'],
  ['a quoted value with a space', ';title="x y"'],
  ['a quoted value with a semicolon', ';title="x;y"'],
  ['a target with a space', ', <a b>'],
])('a link of many parameters and %s is not passed to Node', (_, end) => {
  // Few enough that a service without the bound ends this test as well.
  const link = `<a>${';a=b'.repeat(12)}${end}`
  const { links } = given(link)
  expect(links.flat()).toEqual(end.startsWith(',') ? [`<a>${';a=b'.repeat(12)}`] : [])
})

test('links of the usual forms are passed on together', () => {
  const links = [
    '</style.css>; rel=preload; as=style',
    '</a,b.js>;rel="preload";crossorigin',
    '<https://cdn.example>; rel=preconnect',
  ]
  expect(given(links.join(', ')).links).toEqual([links])
})

test('Node accepts every link that is passed on', () => {
  const unit = fc.constantFrom('<', '>', ';', 'a', '=', '"', ' ', ',', '\\', '<a>', ';a=', '="a"')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      expect(given(`<a>${text}`).isTaken).toBe(true)
    }),
  )
})

test('informational answers above a limit are ignored', () => {
  const odd = Array.from({ length: 16 }, () => '<a> b')
  expect(given(...odd.slice(1), '<a>;rel=preload').links).toHaveLength(1)
  expect(given(...odd, '<a>;rel=preload').links).toEqual([])
  expect(given(`<a>;rel=preload;x=${'y'.repeat(4096)}`).links).toEqual([])
})
