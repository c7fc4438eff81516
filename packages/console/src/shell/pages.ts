import type { Scope } from '@holt/sdk'

/** A page in the navigation and in the palette of commands. */
export interface Page {
  readonly to: '/runtimes' | '/templates' | '/builds'
  readonly title: string
  /** The scope without which the page shows nothing. */
  readonly scope: Scope
  /** The group of the navigation that has the page. */
  readonly group: Group
}

/** The groups of the navigation, in its order. */
export const groups = ['Work', 'Network', 'Activity', 'Service'] as const

type Group = (typeof groups)[number]

/** The pages of the console. A page is added here and in `app/router.tsx`. */
export const pages: readonly Page[] = [
  { to: '/runtimes', title: 'Runtimes', scope: 'runtime:read', group: 'Work' },
  { to: '/templates', title: 'Templates', scope: 'template:read', group: 'Work' },
  { to: '/builds', title: 'Builds', scope: 'template:read', group: 'Work' },
]
