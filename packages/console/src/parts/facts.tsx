import type { ReactNode } from 'react'
import { Foreign } from './foreign.tsx'

/** A fact of a page: its title and its value. A fact without a value, null, is not shown. */
export type FactEntry = readonly [title: string, value: ReactNode]

interface FactsProps {
  readonly entries: readonly FactEntry[]
  /** Names the list for readers of screens. */
  readonly label?: string
}

/** Shows facts of one thing. */
export function Facts({ entries, label }: FactsProps) {
  return (
    <dl className="facts" aria-label={label}>
      {entries
        .filter(([, value]) => value !== null)
        .map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <Foreign>{value}</Foreign>
            </dd>
          </div>
        ))}
    </dl>
  )
}
