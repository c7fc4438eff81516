import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const job = fileURLToPath(new URL('../support/show-progress.ts', import.meta.url))

/** Runs the job on a terminal of a width. */
function onTerminal(columns: number, outcome: 'end' | 'fail'): string {
  const command = `stty cols ${columns} && ${process.execPath} ${job} ${outcome}`
  return spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' }).stdout
}

/** The percentages in what was written, in order. */
const percents = (text: string) => [...text.matchAll(/(\d+) %/g)].map(([, digits]) => Number(digits))

test('without a terminal: a title, then a line per phase and quarter, to 100', () => {
  const { stderr } = spawnSync(process.execPath, [job, 'end'], { encoding: 'utf8' })
  expect(stderr.split('\n')).toEqual([
    'A long job:',
    '  0 %  first',
    ' 30 %  first',
    ' 50 %  second',
    ' 50 %  third',
    ' 80 %  third',
    '100 %  done',
    '',
  ])
})

test('on a terminal: one bar whose percentage only rises, to 100', () => {
  const stdout = onTerminal(100, 'end')
  expect(stdout).toContain('A long job:')
  expect(stdout).toMatch(/━━━/)
  const seen = percents(stdout)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.at(-1)).toBe(100)
  expect(stdout).toContain('100 %  done')
})

test.each([0, 30])('on a terminal of %i columns no bar fits, so lines are printed', (columns) => {
  expect(onTerminal(columns, 'end')).toMatch(/^ 50 % {2}second\r$/m)
})

test('a failed job never shows 100', () => {
  const stdout = onTerminal(100, 'fail')
  expect(stdout).toContain('it broke')
  expect(percents(stdout)).not.toContain(100)
  expect(spawnSync(process.execPath, [job, 'fail'], { encoding: 'utf8' }).stderr).not.toContain('100 %')
})
