import { UsageError } from '../verb/verb.ts'
import { timeIn } from './parse.ts'

/**
 * Returns the moment in an option in the API's form; undefined if the option is absent. A time such
 * as `30d` is relative to now, ahead or ago.
 */
export function momentOf<Text extends string | undefined>(
  option: string,
  text: Text,
  side: 'ahead' | 'ago',
  now: number = Date.now(),
): Text {
  if (text === undefined) return text
  const time = timeIn(text)
  const moment = new Date(time === null ? text : now + (side === 'ahead' ? 1000 : -1000) * time)
  if (Number.isNaN(moment.getTime()))
    throw new UsageError(`${option} ${text} is neither a date such as 2030-01-01 nor a time such as 30d or 2h`)
  return moment.toISOString() as Text
}
