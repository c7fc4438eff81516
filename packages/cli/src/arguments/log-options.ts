import type { Command } from 'commander'
import { UsageError } from '../verb/verb.ts'
import { momentOf } from './moment.ts'

/** The part of a log that a verb shows. */
export interface LogOptions {
  readonly follow?: boolean
  readonly tail?: number
  readonly since?: string
}

/** An item of a log. An item without a time is about the log itself, such as its end. */
interface LogItem {
  readonly cursor: number
  readonly at?: string
}

/** Adds `-f`, `-n` and `--since` to a verb that shows a log. `until` is the end of following. */
export function addLogOptions(command: Command, until: string): Command {
  return command
    .option('-f, --follow', `stay until ${until}`)
    .option('-n, --tail <lines>', 'show only the last LINES; with --follow, also new output', Number)
    .option('--since <when>', sinceText)
}

/** The help for `--since`. */
export const sinceText = 'show only entries since then: 2030-01-01, 2030-01-01T12:00:00Z, or an age: 30d, 2h'

/** Throws `UsageError` if a number of lines is invalid. */
export function requireTail(tail: number | undefined): void {
  if (tail !== undefined && !(Number.isSafeInteger(tail) && tail >= 0))
    throw new UsageError('--tail must be a number of lines')
}

/**
 * Returns the reader of a log that yields only the selected items. Throws `UsageError` for a wrong
 * option.
 */
export function selectedItems<Item extends LogItem>({
  follow = false,
  tail,
  since,
}: LogOptions): (
  read: (how: { readonly follow: boolean; readonly cursor?: number }) => AsyncIterable<Item>,
) => AsyncIterable<Item> {
  requireTail(tail)
  const moment = momentOf('--since', since, 'ago')
  const isOld = ({ at }: Item) => moment !== undefined && at !== undefined && Date.parse(at) < Date.parse(moment)
  return async function* (read) {
    let cursor: number | undefined
    if (tail !== undefined) {
      const last: Item[] = []
      for await (const item of read({ follow: false })) {
        cursor = item.cursor
        if (item.at === undefined || isOld(item)) continue
        last.push(item)
        if (last.length > tail) last.shift()
      }
      yield* last
      if (!follow) return
    }
    for await (const item of read({ follow, ...(cursor === undefined ? {} : { cursor }) })) if (!isOld(item)) yield item
  }
}
