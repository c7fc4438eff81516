import { describe, expect, it } from 'vitest'
import { parseOptions } from '../../support/command-line.ts'

describe('parseOptions', () => {
  it('leaves absent options unset', () => {
    expect(parseOptions([])).toEqual({ rounds: null, budgetSecs: null })
    expect(parseOptions(['--rounds', '5', '--budget-secs=9'])).toEqual({ rounds: 5, budgetSecs: 9 })
  })

  it.each([[['--rounds', '0']], [['--rounds', 'many']], [['--budget-secs', '1.5']], [['--fast']], [['B1']]])(
    'refuses %j',
    (argv) => {
      expect(() => parseOptions(argv)).toThrow()
    },
  )
})
