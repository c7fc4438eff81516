import { expect, test } from 'vitest'
import { headlineChart, headlinesOf, headlineTable } from '../../support/headlines.ts'

const short = `| row | what | Holt | floor | x floor | baseline | x baseline | target | result |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| B1 | create, gvisor | 12 ms | 3 ms | 4x | - | - | <= 5 ms | missed |
| B1 | create + true, gvisor | 36 ms | 9 ms | 4x | - | - | <= 15 ms | missed |
| B1 | create + true, gvisor | 36 ms | 9 ms | 4x | runsc run 148 ms | 0.243x | <= 0.1x | missed |
| B7 | copy of a 1 GiB file, gvisor | 501 ms | - | - | cp 610 ms | 0.822x | <= 1x | met |
`

test('the headlines are the rows of the short table, with their baselines', () => {
  expect(headlineTable(headlinesOf(short)).split('\n').slice(2)).toEqual([
    '| create a runtime | 12 ms |  |  |',
    '| create a runtime and run a command | 36 ms | runsc run 148 ms | 0.243x |',
  ])
})

test('the chart draws each ratio to scale', () => {
  const widths = [...headlineChart(headlinesOf(short)).matchAll(/<rect x="290" .*? width="([\d.]+)"/g)]
  const [holt, baseline] = widths.map(([, width]) => Number(width))
  expect((holt ?? 0) / (baseline ?? 1)).toBeCloseTo(0.243)
})
