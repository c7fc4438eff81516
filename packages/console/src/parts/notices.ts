import { useSyncExternalStore } from 'react'

/** Something that a notice offers to do, such as to undo what it tells. */
export interface NoticeAction {
  readonly title: string
  /** The question before the action, if nothing undoes it. */
  readonly question?: string
  run(): void
}

/** A part of a job that failed. */
export interface Failure {
  /** The name of the part. */
  readonly label: string
  readonly error: unknown
}

/** A text about a job, beside the page: its progress, its result, and what can be done then. */
export interface Notice {
  readonly id: number
  readonly text: string
  /** The finished parts of a job that runs. */
  readonly progress?: { readonly done: number; readonly of: number }
  readonly failures?: readonly Failure[]
  readonly actions?: readonly NoticeAction[]
}

/** The maximum number of notices that are shown. The oldest leave first. */
const mostNotices = 4

const listeners = new Set<() => void>()
let notices: readonly Notice[] = []
let lastId = 0

/** Shows a notice. Returns its id. */
export function addNotice(notice: Omit<Notice, 'id'>): number {
  lastId += 1
  set([...notices, { ...notice, id: lastId }].slice(-mostNotices))
  return lastId
}

/** Replaces what a notice says. A notice that has left is shown again. */
export function replaceNotice(id: number, notice: Omit<Notice, 'id'>): void {
  const isThere = notices.some((each) => each.id === id)
  const next = { ...notice, id }
  set(isThere ? notices.map((each) => (each.id === id ? next : each)) : [...notices, next].slice(-mostNotices))
}

/** Removes a notice. */
export function removeNotice(id: number): void {
  set(notices.filter((notice) => notice.id !== id))
}

/** Removes all notices. */
export function removeNotices(): void {
  set([])
}

/** Returns the notices, the oldest first. */
export function useNotices(): readonly Notice[] {
  return useSyncExternalStore(subscribe, () => notices)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function set(next: readonly Notice[]): void {
  notices = next
  for (const listener of listeners) listener()
}
