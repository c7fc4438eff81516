import type { Scope } from '@holt/sdk'

/** A page in the navigation and in the palette of commands. */
export interface Page {
  readonly to: '/runtimes'
  readonly title: string
  /** The scope without which the page shows nothing. */
  readonly scope: Scope
}

/** The pages of the console. A page is added here and in `app/router.tsx`. */
export const pages: readonly Page[] = [{ to: '/runtimes', title: 'Runtimes', scope: 'runtime:read' }]
