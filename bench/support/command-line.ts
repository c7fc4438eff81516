import { parseArgs } from 'node:util'
import type { RowOptions } from '../rows/row.ts'

/** The options of a run. */
export interface RunOptions extends RowOptions {
  /** The time after which no row begins and the current one ends, in minutes. */
  readonly limitMins: number
}

const defaultLimitMins = 60

/** Parses the options of a run. Throws an error with a message for the terminal. */
export function parseOptions(argv: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: { rounds: { type: 'string' }, 'budget-secs': { type: 'string' }, 'limit-mins': { type: 'string' } },
  })
  return {
    rounds: positive('rounds', values.rounds),
    budgetSecs: positive('budget-secs', values['budget-secs']),
    limitMins: positive('limit-mins', values['limit-mins']) ?? defaultLimitMins,
  }
}

function positive(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`)
  return value
}
