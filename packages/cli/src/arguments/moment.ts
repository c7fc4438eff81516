import { UsageError } from '../verb.ts'

/** A moment that an option names, as the API takes it; nothing where it was not given. */
export function momentOf<Text extends string | undefined>(option: string, text: Text): Text {
  if (text === undefined) return text
  const moment = new Date(text)
  if (Number.isNaN(moment.getTime())) throw new UsageError(`${option} ${text} is not a date such as 2030-01-01`)
  return moment.toISOString() as Text
}
