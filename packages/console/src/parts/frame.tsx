import type { ReactNode } from 'react'

/** A page without navigation: before somebody has signed in. */
export function Frame({ label, children }: { readonly label: string; readonly children?: ReactNode }) {
  return (
    <main className="frame" aria-label={label} aria-busy={children === undefined}>
      {children === undefined ? null : <div className="card">{children}</div>}
    </main>
  )
}
