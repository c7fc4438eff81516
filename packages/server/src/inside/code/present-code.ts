import type { CodeContext, CodeItem, CodeOutput, Id } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'
import type { BridgeContext, BridgeItem } from './bridge-schemas.ts'
import type { ReadItem } from './read-bridge-items.ts'

/** The item of a run that shows a value. */
export type ShownValue = Extract<BridgeItem, { readonly data: unknown }>

/** Returns a context as the API shows it. */
export function presentContext({ created_at, execution_count, ...context }: BridgeContext): CodeContext {
  return { ...context, execution_count: execution_count ?? null, created_at: moment(created_at) }
}

/** Returns a value with its valid forms: text, or for a media type of JSON any JSON. */
export function presentValue({ data, metadata, main, type }: ShownValue): CodeOutput {
  const forms = Object.entries(data).filter(([mime, form]) => typeof form === 'string' || isJson(mime))
  return { data: Object.fromEntries(forms), metadata: metadata ?? {}, main: main ?? type === 'result' }
}

function isJson(mime: string): boolean {
  return /[/+]json(?:;|$)/.test(mime)
}

/** Returns how a run ended. */
export function presentEnd(end: Extract<BridgeItem, { readonly type: 'end' }>) {
  return {
    status: end.status,
    execution_count: end.execution_count ?? null,
    duration_ms: Math.round(end.duration_ms ?? 0),
    state_lost: end.state_lost ?? false,
  }
}

/**
 * Yields a run's items as the API shows them. An item without a cursor gets the cursor of the
 * previous item.
 */
export async function* presentItems(
  items: AsyncIterable<ReadItem>,
  { runId, cursor: from }: { readonly runId: string; readonly cursor: number },
): AsyncGenerator<CodeItem> {
  let cursor = Math.max(0, from)
  for await (const item of items) {
    if (item.type === 'unread') {
      yield { type: 'dropped', cursor, dropped_bytes: item.bytes }
      continue
    }
    cursor = Math.max(cursor, item.cursor ?? 0)
    if (item.type === 'unknown') continue
    yield presentItem(item, { runId, cursor })
  }
}

function presentItem(
  item: Exclude<BridgeItem, { readonly type: 'unknown' }>,
  { runId, cursor }: { runId: string; cursor: number },
): CodeItem {
  switch (item.type) {
    case 'start':
      return { type: 'start', cursor, run_id: runId as Id<'code_run'>, context_id: item.context_id }
    case 'queued':
      return { type: 'queued', cursor }
    case 'stdout':
    case 'stderr':
      return { type: item.type, cursor, text: item.text }
    case 'clear_output':
      return { type: item.type, cursor, wait: item.wait ?? false }
    case 'error':
      return { type: item.type, cursor, name: item.name, value: item.value, traceback: item.traceback }
    case 'dropped':
      return { type: item.type, cursor, dropped_bytes: item.dropped_bytes ?? 0 }
    case 'end':
      return { type: item.type, cursor, ...presentEnd(item), truncated: item.truncated ?? false }
    default: {
      const named = item.display_id == null ? {} : { display_id: item.display_id }
      return { type: item.type, cursor, ...presentValue(item), ...named }
    }
  }
}
