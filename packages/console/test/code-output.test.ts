import type { CodeItem } from '@holt/sdk'
import { describe, expect, test } from 'vitest'
import { type CellOutput, noOutput, withItem } from '../src/code/cell-output.ts'
import { axesOf, drawnOf, pointsOf } from '../src/code/chart-data.ts'
import { formsOf } from '../src/code/forms.ts'
import { frameText } from '../src/code/frame-text.ts'

const after = (...items: readonly Record<string, unknown>[]): CellOutput =>
  items.reduce<CellOutput>((output, item) => withItem(output, { cursor: 0, ...item } as CodeItem), noOutput)

const shown = (text: string, more: object = {}) => ({
  type: 'display',
  data: { 'text/plain': text },
  metadata: {},
  main: false,
  ...more,
})

describe('the output of a cell', () => {
  test('joins output of one stream, and keeps the order of streams', () => {
    const { parts } = after(
      { type: 'stdout', text: 'a' },
      { type: 'stdout', text: 'b' },
      { type: 'stderr', text: 'c' },
      { type: 'stdout', text: 'd' },
    )
    expect(parts.map((part) => (part.type === 'value' ? '' : part.text))).toEqual(['ab', 'c', 'd'])
  })

  test('has the last value of an updated display', () => {
    const { parts } = after(
      shown('1', { display_id: 'x' }),
      shown('2', { display_id: 'y' }),
      shown('3', { type: 'update_display', display_id: 'x' }),
      shown('4', { type: 'update_display', display_id: 'unknown' }),
    )
    expect(parts.map((part) => part.type === 'value' && part.data['text/plain'])).toEqual(['3', '2'])
  })

  test('is cleared at once, or by the next output', () => {
    expect(after(shown('1'), { type: 'clear_output', wait: false }).parts).toEqual([])
    const waiting = after(shown('1'), { type: 'clear_output', wait: true })
    expect(waiting.parts.length).toBe(1)
    expect(withItem(waiting, { type: 'stdout', cursor: 0, text: 'next' }).parts).toEqual([
      { type: 'stdout', text: 'next' },
    ])
  })

  test('is cut after a mebibyte and after 500 parts, and says so', () => {
    const line = { type: 'stdout', text: 'x'.repeat(700_000) }
    const { parts, isCut } = after(line, { type: 'stderr', text: 'y' }, line, line)
    expect([parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0), isCut]).toEqual([
      2 ** 20,
      true,
    ])
    expect(after(...Array.from({ length: 501 }, () => shown('1')))).toMatchObject({
      isCut: true,
      parts: { length: 500 },
    })
  })
})

describe('values of a cell', () => {
  const large = 'x'.repeat(2 ** 24)

  test('are cut after 32 MiB together, and the output says so', () => {
    const { parts, isCut } = after(shown(large), shown(large), shown('one more'))
    expect([parts.length, isCut]).toEqual([2, true])
  })

  test('are not made larger than that by updates', () => {
    const update = { type: 'update_display', display_id: 'x' }
    const both = [shown('1', { display_id: 'x' }), shown('2', { display_id: 'x' }), shown(large)]
    const { parts, isCut } = after(...both, shown(large, update))
    const lengths = parts.map((part) => part.type === 'value' && String(part.data['text/plain']).length)
    expect(lengths).toEqual([1, 1, 2 ** 24])
    expect(isCut).toBe(true)
    expect(after(...both, shown('3', update)).isCut).toBe(false)
  })
})

describe('the forms of a value', () => {
  const typesOf = (data: Record<string, unknown>) => formsOf(data).map(({ type, kind }) => [type, kind])

  test('are in the order of how much they tell', () => {
    expect(
      typesOf({
        'text/plain': 'x',
        'application/x-own': 'x',
        'text/html': '<p>',
        'image/png': 'aGk=',
        'application/vnd.holt.chart+json': {},
        'application/json': [1],
        'application/pdf': 'JVBERi0xLjQ=',
      }),
    ).toEqual([
      ['application/vnd.holt.chart+json', 'chart'],
      ['image/png', 'image'],
      ['text/html', 'html'],
      ['application/json', 'json'],
      ['application/pdf', 'pdf'],
      ['application/x-own', 'text'],
      ['text/plain', 'text'],
    ])
  })

  test('with the wrong content are text or data, and nothing runs', () => {
    expect(
      typesOf({
        'image/png': '<svg onload=alert(1)>',
        'application/javascript': 'alert(1)',
        'text/html': { not: 'text' },
        'application/vnd.holt.chart+json': 'text',
        'application/pdf': 'PGh0bWw+',
      }).map(([, kind]) => kind),
    ).toEqual(['text', 'text', 'json', 'text', 'text'])
  })

  test('of megabytes that are nearly base64 are told in one pass', () => {
    const text = `a${' '.repeat(2 ** 21)}!`
    expect(typesOf({ 'image/png': text })).toEqual([['image/png', 'text']])
  })
})

describe('a chart', () => {
  const axes = (series: readonly object[], more: object = {}) => {
    const [first] = axesOf({ title: 'T', axes: [{ title: null, series, ...more }] }) ?? []
    if (first === undefined) throw new Error('no axes')
    return first
  }

  test('has the lines over the positions of all of them', () => {
    const drawn = drawnOf(
      axes([
        { type: 'line', label: 'a', x: [1, 2, 3], y: [1, null, 3] },
        { type: 'line', label: null, x: [2, 4], y: [5, 6] },
      ]),
    )
    expect(drawn?.xs).toEqual([1, 2, 3, 4])
    expect(drawn?.lines.map(({ label, ys }) => [label, ys])).toEqual([
      ['a', [1, null, 3, undefined]],
      ['Series 2', [undefined, 5, undefined, 6]],
    ])
  })

  test('has times and categories as positions', () => {
    const dated = drawnOf(axes([{ type: 'line', x: ['2026-01-01', '2026-01-02'], y: [1, 2] }]))
    expect([dated?.isTime, dated?.xs]).toEqual([true, [1767225600, 1767312000]])
    const named = drawnOf(axes([{ type: 'bar', orientation: 'vertical', x: ['b', 'a'], y: [1, 2] }]))
    expect([named?.categories, named?.xs, named?.lines[0]?.kind]).toEqual([['b', 'a'], [0, 1], 'bars'])
  })

  test('keeps two points at one position', () => {
    const drawn = drawnOf(axes([{ type: 'scatter', x: [2, 1, 2], y: [5, 6, 7] }]))
    expect([drawn?.xs, drawn?.lines[0]?.ys]).toEqual([
      [1, 2, 2],
      [6, 5, 7],
    ])
  })

  test.each([
    ['a line that goes back', [{ type: 'line', x: [1, 2, 1], y: [1, 2, 3] }]],
    ['a pie', [{ type: 'pie', labels: ['a'], fractions: [1] }]],
    ['horizontal bars', [{ type: 'bar', orientation: 'horizontal', x: [1], y: [1] }]],
    ['lists of other lengths', [{ type: 'line', x: [1, 2], y: [1] }]],
    ['positions of several kinds', [{ type: 'line', x: [1, 'a'], y: [1, 2] }]],
  ])('is a table with %s', (_, series) => {
    expect(drawnOf(axes(series))).toBeNull()
  })

  test.each([
    ['close positions that are large', [9e16, 9e16 + 32]],
    ['positions that differ in the last digit', [9e9, 9e9 + 2 ** -19]],
    ['negative positions', [-9e16 - 32, -9e16]],
    ['positions without bounds', [-1e308, 1e308]],
  ])('is a table with %s, between which an axis cannot step', (_, x) => {
    expect(drawnOf(axes([{ type: 'line', x, y: [1, 2] }]))).toBeNull()
  })

  test.each([1e308, -1e308, 5e-324])('is a table with the value %s', (value) => {
    expect(drawnOf(axes([{ type: 'line', x: [1, 2], y: [1, value] }]))).toBeNull()
  })

  test('with one position, or with times of a second, is drawn', () => {
    expect(drawnOf(axes([{ type: 'scatter', x: [9e16, 9e16], y: [0, 1e9] }]))?.xs).toEqual([9e16, 9e16])
    const x = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z']
    expect(drawnOf(axes([{ type: 'line', x, y: [1, 2] }]))?.isTime).toBe(true)
  })

  test('has points of values without a text', () => {
    const hostile = JSON.parse('[{"toString":1,"valueOf":1}]')
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    const [line, box] = axes([
      { type: 'line', x: hostile, y: deep },
      { type: 'box', low: hostile[0] },
    ]).series
    expect(line && pointsOf(line)).toEqual([['no single value', 'no single value']])
    expect(box && pointsOf(box)[0]).toEqual(['low', 'no single value'])
  })

  test('with a logarithm of nothing is a table', () => {
    expect(drawnOf(axes([{ type: 'line', x: [0, 1], y: [1, 2] }], { x_scale: 'log' }))).toBeNull()
  })

  test.each([null, 'text', [], {}, { axes: 'x' }, { axes: [null] }, { axes: [{ series: {} }] }])(
    'is not made of %j',
    (value) => {
      expect(axesOf(value)).toBeNull()
    },
  )

  test('has its points as texts', () => {
    const [pie, box] = axes([
      { type: 'pie', labels: ['a', 'b'], fractions: [0.25, 0.75] },
      { type: 'box', low: 1, q1: 2, median: 3, q3: 4, high: 5 },
    ]).series
    expect(pie && pointsOf(pie)).toEqual([
      ['a', '0.25'],
      ['b', '0.75'],
    ])
    expect(box && pointsOf(box).map(([, value]) => value)).toEqual(['1', '2', '3', '4', '5'])
  })
})

test('the document of a frame has no element that reaches the net although nothing may be loaded', () => {
  const html =
    '<LINK rel=preconnect><meta\nhttp-equiv=refresh><iframe/srcdoc=x><base ><linked><p><a href=x>links</a><abbr>, <em>metadata</em>'
  const text = frameText(html)
  expect(text.slice(text.lastIndexOf('\n<x-') + 1)).toBe(
    '<x-LINK rel=preconnect><x-meta\nhttp-equiv=refresh><x-iframe/srcdoc=x><x-base ><linked><p><x-a href=x>links</a><abbr>, <em>metadata</em>',
  )
})
