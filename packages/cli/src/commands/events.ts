import { eventTypePatterns } from '@holt/protocol'
import type { Event, EventFilter, EventItem, Events } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { findRuntimeId } from '../arguments/find-runtime.ts'
import { sinceText } from '../arguments/log-options.ts'
import { momentOf } from '../arguments/moment.ts'
import { firstOf, limitOf, limitOption } from '../arguments/newest.ts'
import { collected } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { print, printJson, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Examples:
  holt events                            the newest 50, the newest last
  holt events -f --type 'runtime.*'      new events, as they happen
  holt events --since 2h                 the newest 50 of the last two hours
  holt events -f --since 2h              all of the last two hours, and new ones
  holt events -f -n 10                   the newest 10, and new ones
  holt events mine                       what happened to one runtime
  holt events --cursor 120 -f --json     everything after the event 120, one JSON object per line`

/** The options of a verb that shows events. */
export interface EventsOptions {
  readonly follow?: boolean
  readonly type?: string[]
  readonly cursor?: number
  readonly since?: string
  readonly limit?: number
  readonly quiet?: boolean
  readonly json?: boolean
}

/** Adds `holt events`, which shows the events of the project. */
export function addEvents(program: Command): void {
  const command = program
    .command('events')
    .description('show events, in order')
    .argument('[runtime]', 'only events of this runtime: id, beginning of an id, or name')
  addEventOptions(command, 'only this type, or all of a kind: build.ready, runtime.*; repeatable')
  command.addHelpText('after', examples)
  act(command, async (runtime: string | undefined, options: EventsOptions) => {
    requireValues(options, eventTypePatterns)
    const holt = connect()
    const subject = runtime === undefined ? undefined : await findRuntimeId(holt, runtime)
    return showEvents(holt.events, subject, options)
  })
}

/** Adds the options of a verb that shows events. */
export function addEventOptions(command: Command, aboutTypes: string): void {
  command
    .option('-f, --follow', 'stay, and show new events; --limit and --since show earlier events first')
    .addOption(new Option('-t, --type <type>', aboutTypes).argParser(collected))
    .option('--cursor <cursor>', 'only events after this one', Number)
    .option('--since <when>', sinceText)
    .addOption(limitOption())
    .option('-q, --quiet', 'only the ids')
    .option('--json', 'print the events as JSON; with --follow, one object per line')
}

/** Shows events of a log, as the options ask for it. Resolves with the exit code. */
export async function showEvents(log: Events, subject: string | undefined, options: EventsOptions): Promise<number> {
  const { follow, type: types, cursor, quiet, json } = options
  const limit = limitOf(options.limit)
  const since = momentOf('--since', options.since, 'ago')
  const filter = dropUndefined({ types, subject })
  const write = (item: EventItem) => {
    if (json === true) print(JSON.stringify(item))
    else if (item.type === 'dropped') say(`holt: ${item.dropped_items} events are no longer kept`)
    else if (item.type !== 'end') print(quiet === true ? item.event_id : lineOf(item))
  }
  if (follow === true) {
    const withPast = since !== undefined || options.limit !== undefined
    const start = withPast ? await writePast({ since, limit: options.limit }, { log, filter, write }) : cursor
    for await (const item of log.follow({ ...filter, cursor: start ?? 'latest' })) write(item)
    return 0
  }
  const order = cursor === undefined ? 'desc' : 'asc'
  const events = await firstOf(limit, (page) =>
    from(since, log.list({ ...filter, order, ...page, ...dropUndefined({ cursor }) })),
  )
  if (order === 'desc') events.reverse()
  if (json === true) printJson({ data: events, next_cursor: null })
  else for (const event of events) write(event)
  return 0
}

/**
 * Prints the newest events, by time or by number, and returns the cursor of the newest event of
 * all.
 */
async function writePast(
  { since, limit }: { readonly since: string | undefined; readonly limit: number | undefined },
  { log, filter, write }: { log: Events; filter: EventFilter; write: (event: Event) => void },
): Promise<number> {
  // Events of every kind are numbered together. Events that arrive meanwhile are followed.
  const [newest] = await firstOf(1, (page) => log.list({ order: 'desc', ...page }))
  const cursor = newest?.cursor ?? 0
  const events: Event[] = []
  for await (const event of from(since, log.list({ ...filter, order: 'desc', limit: Math.min(limit ?? 100, 100) }))) {
    if (event.cursor > cursor) continue
    events.push(event)
    if (events.length === limit) break
  }
  for (const event of events.reverse()) write(event)
  return cursor
}

/**
 * Yields a list of events, newest first, up to the first that is too old. Their numbers are in the
 * order of their times.
 */
async function* from(since: string | undefined, events: AsyncIterable<Event>): AsyncIterable<Event> {
  for await (const event of events) {
    if (since !== undefined && Date.parse(event.at) < Date.parse(since)) return
    yield event
  }
}

/** Throws if options have values that cannot be. `patterns` are the types of the log. */
export function requireValues(
  { follow, type = [], cursor, since, limit }: EventsOptions,
  patterns: readonly string[],
): void {
  const wrong = type.find((text) => !patterns.includes(text))
  if (wrong !== undefined)
    throw new UsageError(
      `--type ${wrong} must be one of ${patterns.filter((text) => text.endsWith('*')).join(', ')}, or one of their types`,
    )
  if (cursor !== undefined && !(Number.isSafeInteger(cursor) && cursor >= 0))
    throw new UsageError('--cursor must be the cursor of an event')
  if (since !== undefined && cursor !== undefined) throw new UsageError('Give one of --since and --cursor')
  if (follow === true && limit !== undefined && cursor !== undefined)
    throw new UsageError('--follow shows everything after --cursor: leave --limit out')
}

function lineOf({ cursor, at, type, subject, actor, data }: Event): string {
  const by = actor.type === 'key' ? ` by ${actor.key_id}` : ''
  const reason = (data.reason as { message?: unknown } | null | undefined)?.message
  const why = typeof reason === 'string' ? `: ${reason}` : ''
  const fact = factOf(data)
  const what = fact === null ? '' : ` (${fact})`
  return printable(`${at} ${String(cursor).padStart(6)} ${type.padEnd(22)} ${subject.id}${what}${by}${why}`)
}

/**
 * Returns the most useful fact of an event besides type and subject: a name, a port, or the changed
 * fields.
 */
function factOf({ name, port, changed }: Event['data']): string | null {
  if (typeof name === 'string') return name
  if (typeof port === 'number') return `port ${port}`
  return Array.isArray(changed) && changed.length > 0 ? changed.join(', ') : null
}
