import { say } from '../output/print.ts'
import type { BuildView } from './build-view.ts'
import { LiveView } from './live-view.ts'
import { PlainView } from './plain-view.ts'

/** The kinds of views of a build. */
export const progressKinds = ['live', 'plain', 'quiet'] as const
export type ProgressKind = (typeof progressKinds)[number]

/** The least width of a useful live view. */
const minColumns = 40

/** Returns the kind that suits stderr. */
export function fittingKind(): ProgressKind {
  const { isTTY, columns = 0 } = process.stderr
  return isTTY && columns >= minColumns ? 'live' : 'plain'
}

/** Returns the view of a kind. */
export function viewOf(kind: ProgressKind): BuildView {
  if (kind === 'live') return new LiveView()
  if (kind === 'plain') return new PlainView()
  const nothing = () => undefined
  return { status: nothing, log: nothing, note: (text) => say(`holt: ${text}`), end: nothing }
}
