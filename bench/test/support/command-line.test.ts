import { describe, expect, it } from 'vitest'
import { parseOptions } from '../../support/command-line.ts'

describe('parseOptions', () => {
  it('leaves absent options unset', () => {
    expect(parseOptions([])).toEqual({ rounds: null, budgetSecs: null, limitMins: 60 })
    const given = ['--rounds', '5', '--budget-secs=9', '--limit-mins', '40']
    expect(parseOptions(given)).toEqual({ rounds: 5, budgetSecs: 9, limitMins: 40 })
  })

  it.each([
    [['--rounds', '0']],
    [['--rounds', 'many']],
    [['--budget-secs', '1.5']],
    [['--limit-mins', '0']],
    [['--fast']],
    [['B1']],
  ])('refuses %j', (argv) => {
    expect(() => parseOptions(argv)).toThrow()
  })
})
