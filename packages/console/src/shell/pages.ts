import type { Scope } from '@holt/sdk'

/** A page in the navigation and in the palette of commands. */
export interface Page {
  readonly to:
    | '/runtimes'
    | '/templates'
    | '/builds'
    | '/snapshots'
    | '/policies'
    | '/secrets'
    | '/providers'
    | '/events'
    | '/webhooks'
    | '/audit'
    | '/keys'
    | '/projects'
    | '/pools'
    | '/host'
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
  { to: '/snapshots', title: 'Snapshots', scope: 'runtime:read', group: 'Work' },
  { to: '/policies', title: 'Policies', scope: 'policy:read', group: 'Network' },
  { to: '/secrets', title: 'Secrets', scope: 'secret:read', group: 'Network' },
  { to: '/providers', title: 'Providers', scope: 'secret:read', group: 'Network' },
  { to: '/events', title: 'Events', scope: 'event:read', group: 'Activity' },
  { to: '/webhooks', title: 'Webhooks', scope: 'webhook:read', group: 'Activity' },
  { to: '/audit', title: 'Audit log', scope: 'admin', group: 'Activity' },
  { to: '/keys', title: 'Keys', scope: 'admin', group: 'Service' },
  { to: '/projects', title: 'Projects', scope: 'runtime:read', group: 'Service' },
  { to: '/pools', title: 'Pools', scope: 'operator', group: 'Service' },
  { to: '/host', title: 'Host', scope: 'operator', group: 'Service' },
]
