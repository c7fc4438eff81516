import { describe, expect, test } from 'vitest'
import { updateFull, updateSummary } from '../../support/update-section.ts'

const head = ['| row | what |', '| --- | --- |']
const note = (command: string, day: string) => `Measured ${day} by \`${command}\`: a machine.`
const table = (lines: readonly string[], ...notes: readonly string[]) => [...head, ...lines, '', ...notes].join('\n')

/** By which commands a section says that it was measured. */
const commandsOf = (section: string) => section.match(/(?<=`)node [^`]+/g)

describe('the short table', () => {
  const old = table(['| B1 | a |', '| B7 | b |', '| B7 | c |'], note('node bench/all.ts', 'then'))

  test('gets a new row in its place, with the way of its measurement', () => {
    const now = updateSummary(old, table(['| B6 | d |', '| B12 | e |'], note('node bench/all.ts B6 B12', 'now')))
    expect(now.split('\n').slice(2)).toEqual([
      '| B1 | a |',
      '| B6 | d |',
      '| B7 | b |',
      '| B7 | c |',
      '| B12 | e |',
      '',
      note('node bench/all.ts', 'then'),
      note('node bench/all.ts B6 B12', 'now'),
    ])
  })

  test('has each row once, from its last measurement', () => {
    const first = updateSummary(old, table(['| B7 | d |'], note('node bench/all.ts B7', 'now')))
    const second = updateSummary(first, table(['| B7 | e |'], note('node bench/all.ts B7', 'later')))
    expect(second).toBe(
      table(['| B1 | a |', '| B7 | e |'], note('node bench/all.ts', 'then'), note('node bench/all.ts B7', 'later')),
    )
  })

  test('refuses rows with other columns', () => {
    const other = ['| row | what | floor |', '| --- | --- | --- |', '| B7 | d | 1 ms |'].join('\n')
    expect(() => updateSummary(old, other)).toThrow('measure every row')
  })

  test('drops a command whose rows were all measured again', () => {
    const first = updateSummary(old, table(['| B7 | d |'], note('node bench/all.ts B7 --rounds 5', 'now')))
    const second = updateSummary(first, table(['| B1 | f |', '| B7 | e |'], note('node bench/all.ts B1 B7', 'later')))
    expect(commandsOf(second)).toEqual(['node bench/all.ts B1 B7'])
    const third = updateSummary(second, table(['| B1 | g |'], note('node bench/all.ts B1 --rounds 9', 'at last')))
    expect(commandsOf(third)).toEqual(['node bench/all.ts B1 B7', 'node bench/all.ts B1 --rounds 9'])
  })
})

test('the long page gets a new section in its place', () => {
  const old = `${note('node bench/all.ts', 'then')}\n\n### B1: one\n\ntext\n\n### B7: seven\n\nmore\n`
  const now = updateFull(old, `${note('node bench/all.ts B6', 'now')}\n\n### B6: six\n\nnew\n`)
  expect(now.match(/^(?:###|Measured).*/gm)).toEqual([
    note('node bench/all.ts', 'then'),
    note('node bench/all.ts B6', 'now'),
    '### B1: one',
    '### B6: six',
    '### B7: seven',
  ])
})
