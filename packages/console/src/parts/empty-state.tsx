import type { ReactNode } from 'react'

/** Says why a page shows nothing, and what to do first. */
export function EmptyState({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="empty" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
