import type { RuntimeData, RuntimeState } from '@holt/sdk'

/** A runtime as the table shows it. */
export interface RuntimeRow {
  readonly id: string
  readonly name: string | null
  readonly state: RuntimeState
  readonly reason: string | null
  readonly template: string
  /** The runtime that it was forked from; null if it is not a fork. */
  readonly parentId: string | null
  readonly createdAt: number
  /** The time of its deadline; null if it has none, and while it is paused. */
  readonly expiresAt: number | null
  readonly onTimeout: 'pause' | 'terminate'
  /** The time without use after which it is paused, in seconds; null: never. */
  readonly idleSecs: number | null
  /** The texts by which it is found, in lower case. */
  readonly findText: string
}

/** Returns the row of a runtime. */
export function rowOf(runtime: Readonly<Omit<RuntimeData, 'ports'>>): RuntimeRow {
  const { runtime_id, name, state, state_reason, template, parent_id, metadata } = runtime
  const labels = Object.entries(metadata).map(([key, value]) => `${key}=${value}`)
  return {
    id: runtime_id,
    name,
    state,
    reason: state_reason?.message ?? null,
    template: template.name,
    parentId: parent_id,
    createdAt: Date.parse(runtime.created_at),
    expiresAt: runtime.expires_at === null ? null : Date.parse(runtime.expires_at),
    onTimeout: runtime.on_timeout,
    idleSecs: runtime.idle_timeout_secs,
    findText: [runtime_id, name ?? '', template.name, ...labels].join('\n').toLowerCase(),
  }
}

/** Returns the name of a row for people. */
export function labelOf({ id, name }: Pick<RuntimeRow, 'id' | 'name'>): string {
  return name ?? id
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

/**
 * Returns the rows of a view whose name, id, template or metadata have each word of a text. A word
 * such as `team=search` finds a label.
 */
export function findRows(rows: readonly RuntimeRow[], view: View, text: string): readonly RuntimeRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (view === 'live' && words.length === 0) return rows
  return rows.filter(
    ({ state, findText }) => (view === 'live' || state === view) && words.every((word) => findText.includes(word)),
  )
}
