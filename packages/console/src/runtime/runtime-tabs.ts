import type { Scope } from '@holt/sdk'

/** The paths of the tabs below the page of the runtime. */
type Tab = '/terminal' | '/commands' | '/files' | '/code' | '/ports' | '/network' | '/metrics' | '/events'

/** A tab of the page of one runtime. */
export interface RuntimeTab {
  readonly to: `/runtimes/$runtimeId${'' | Tab}`
  readonly title: string
  /** The scope without which the tab shows nothing. */
  readonly scope: Scope
  /** True for the tab of a code interpreter, which few templates have. */
  readonly needsInterpreter?: boolean
}

/** The tabs of the page of one runtime. A tab is added here and in `app/router.tsx`. */
export const runtimeTabs: readonly RuntimeTab[] = [
  { to: '/runtimes/$runtimeId', title: 'Overview', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/terminal', title: 'Terminal', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/commands', title: 'Commands', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/files', title: 'Files', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/code', title: 'Code', scope: 'runtime:read', needsInterpreter: true },
  { to: '/runtimes/$runtimeId/ports', title: 'Ports', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/network', title: 'Network', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/metrics', title: 'Metrics', scope: 'runtime:read' },
  { to: '/runtimes/$runtimeId/events', title: 'Events', scope: 'runtime:read' },
]
