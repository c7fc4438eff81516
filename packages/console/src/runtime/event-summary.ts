import type { Event } from '@holt/sdk'
import { shownText } from '../parts/shown-text.ts'

/** The characters of one detail. */
const detailLength = 80

/** Returns the details of an event in a line: the change of a state, or each detail by its name. */
export function eventSummary({ from, to, reason, ...others }: Event['data']): string {
  const change = typeof to === 'string' ? [typeof from === 'string' ? `${from} → ${to}` : to] : []
  const why = isReason(reason) ? [reason.message] : detailsOf({ reason })
  return shownText([...change, ...why, ...detailsOf(others)].join(', '))
}

function detailsOf(data: Event['data']): readonly string[] {
  const known = Object.entries(data).filter(([, value]) => value !== null && value !== undefined)
  return known.map(([name, value]) => `${name}: ${detailOf(value)}`)
}

function detailOf(value: unknown): string {
  const text =
    typeof value === 'string' ? value : Array.isArray(value) ? value.map(detailOf).join(' ') : JSON.stringify(value)
  return text.length > detailLength ? `${text.slice(0, detailLength)}…` : text
}

function isReason(reason: unknown): reason is { readonly message: string } {
  return typeof reason === 'object' && reason !== null && 'message' in reason && typeof reason.message === 'string'
}
