import type { RuntimeData, RuntimeState } from '@holt/sdk'

/** A runtime as the table shows it. */
export interface RuntimeRow {
  readonly id: string
  readonly name: string | null
  readonly state: RuntimeState
  readonly reason: string | null
  readonly template: string
  readonly createdAt: number
  /** The time of its deadline; null if it has none. */
  readonly expiresAt: number | null
}

/** Returns the row of a runtime. */
export function rowOf(runtime: Readonly<Omit<RuntimeData, 'ports'>>): RuntimeRow {
  const { runtime_id, name, state, state_reason, template, created_at, expires_at } = runtime
  return {
    id: runtime_id,
    name,
    state,
    reason: state_reason?.message ?? null,
    template: template.name,
    createdAt: Date.parse(created_at),
    expiresAt: expires_at === null ? null : Date.parse(expires_at),
  }
}

/** The states that a person can choose to see, with their names. */
export const views = {
  live: 'Not ended',
  running: 'Running',
  paused: 'Paused',
  failed: 'Failed',
} as const

/** A choice of states. */
export type View = keyof typeof views

/** Returns the view of a text in an address. */
export function viewOf(text: string | undefined): View {
  return text !== undefined && Object.hasOwn(views, text) ? (text as View) : 'live'
}

/** Returns the rows of a view whose name, id or template has a text. */
export function findRows(rows: readonly RuntimeRow[], view: View, text: string): readonly RuntimeRow[] {
  const sought = text.trim().toLowerCase()
  return rows.filter(({ id, name, state, template }) => {
    if (view !== 'live' && state !== view) return false
    return [id, name ?? '', template].some((each) => each.toLowerCase().includes(sought))
  })
}
