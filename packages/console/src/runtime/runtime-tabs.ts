import type { Scope } from '@holt/sdk'

/** A tab of the page of one runtime. */
export interface RuntimeTab {
  readonly to: `/runtimes/$runtimeId${'' | '/terminal' | '/commands' | '/files' | '/ports' | '/network' | '/metrics' | '/events'}`
  readonly title: string
  /** The scope without which the tab shows nothing. */
  readonly scope: Scope
}

/** The tabs of the page of one runtime. A tab is added here and in `app/router.tsx`. */
export const runtimeTabs: readonly RuntimeTab[] = [
  { to: '/runtimes/$runtimeId', title: 'Overview', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/terminal', title: 'Terminal', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/commands', title: 'Commands', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/files', title: 'Files', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/ports', title: 'Ports', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/network', title: 'Network', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/metrics', title: 'Metrics', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/events', title: 'Events', scope: 'runtime:read' },
]
