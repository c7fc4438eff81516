import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { duration, plainText } from '../../src/build/build-view.ts'
import { fitted, widthOf } from '../../src/output/live-region.ts'

const job = fileURLToPath(new URL('../support/show-build.ts', import.meta.url))

/** The final screen of a terminal with so many columns and rows, and the number of drawn bytes. */
function onTerminal(
  columns: number,
  rows: number,
  how = '',
): { readonly screen: readonly string[]; readonly written: string } {
  const command = `stty cols ${columns} rows ${rows} && ${process.execPath} ${job} ${how}`
  const written = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' }).stdout
  return { screen: replay(written), written }
}

/** A terminal that knows what the view writes: lines, up, erase below, and styles. */
function replay(written: string): string[] {
  const lines = ['']
  let row = 0
  for (const [part = ''] of written.matchAll(/\u001b\[(\d*)([A-Za-z])|\r|\n|[^\u001b\r\n]+/g)) {
    const up = /^\u001b\[(\d+)A$/.exec(part)
    if (up !== null) row = Math.max(0, row - Number(up[1]))
    else if (part === '\u001b[J') lines.splice(row, lines.length, '')
    else if (part === '\n') lines[++row] ??= ''
    else if (!part.startsWith('\u001b') && part !== '\r') lines[row] += part
  }
  return lines.filter((line) => line !== '')
}

test('ended steps stay, and temporary lines are removed', () => {
  const { screen, written } = onTerminal(100, 30)
  expect(screen).toEqual([
    '✓ [1/3] FROM python cached',
    expect.stringMatching(/^✓ \[2\/3\] RUN echo long .*…$/),
    '! old image',
    '✗ [3/3] COPY . . 0.0s',
    'holt: a word of our own',
  ])
  expect(stripVTControlCharacters(written)).toMatch(/web:v2 building \d+\.\ds/)
  for (const index of [14, 19]) expect(written).toContain(`│ output ${index}`)
  expect(written).not.toContain('output 13')
  expect(written).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
})

test('a drawing is never higher than the terminal', () => {
  const { screen, written } = onTerminal(100, 6)
  expect(screen.at(-1)).toBe('holt: a word of our own')
  for (const [, rows] of written.matchAll(/\u001b\[(\d+)A/g)) expect(Number(rows)).toBeLessThanOrEqual(8)
  expect(written).not.toContain('output 15')
})

test('after the terminal becomes narrower, wrapped lines are erased too', () => {
  const ups = (how: string) => {
    const { written } = onTerminal(100, 30, how)
    return new Set([...written.matchAll(/\u001b\[(\d+)A/g)].map(([, rows]) => Number(rows)))
  }
  expect(ups('')).not.toContain(9)
  // The title of the step is wider than 50 columns: eight lines take nine rows at that moment.
  expect(ups('narrow')).toContain(9)
})

test('a line never exceeds its width, and keeps the part that fits', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🚀', '\u0301', '\u001b[2m', '\u001b[0m', ' ') })
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 20 }), (line, columns) => {
      const cut = fitted(line, columns)
      expect(widthOf(cut)).toBeLessThanOrEqual(columns)
      if (widthOf(line) <= columns) expect(cut).toBe(line)
      else expect(cut).toContain('…')
    }),
  )
})

test.each([
  ['plain', 'plain'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['10 %\r50 %\r100 %', '100 %'],
  ['done\r', 'done'],
  ['a\u001b[2Jb\u0007', 'ab'],
  ['tab\there', 'tab here'],
])('%j is shown as %j', (message, shown) => {
  expect(plainText(message).trim()).toBe(shown)
})

test.each([
  [400, '0.4s'],
  [12_345, '12.3s'],
  [65_400, '1m05s'],
  [3_600_000, '60m00s'],
])('%i ms is %s', (ms, shown) => {
  expect(duration(ms)).toBe(shown)
})
