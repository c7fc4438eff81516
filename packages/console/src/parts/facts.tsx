import type { ReactNode } from 'react'

/** A fact of a page: its title, and what it is. Null is not shown. */
export type FactEntry = readonly [title: string, value: ReactNode]

/** Shows facts of one thing. */
export function Facts({ entries }: { readonly entries: readonly FactEntry[] }) {
  return (
    <dl className="facts">
      {entries
        .filter(([, value]) => value !== null)
        .map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
