import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { RuntimesPage } from '../runtimes/runtimes-page.tsx'
import { Layout } from '../shell/layout.tsx'
import { NotFoundPage } from '../shell/not-found-page.tsx'

const root = createRootRoute({
  component: Layout,
  notFoundComponent: NotFoundPage,
  errorComponent: ({ error }) => <ErrorNotice error={error} />,
})

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/runtimes', replace: true })
  },
})

/** What is searched and filtered is in the address, so that a reload or a link shows the same. */
const runtimes = createRoute({
  getParentRoute: () => root,
  path: '/runtimes',
  component: RuntimesPage,
  validateSearch: (search): { readonly find?: string; readonly state?: string } => ({
    ...(typeof search.find === 'string' ? { find: search.find } : {}),
    ...(typeof search.state === 'string' ? { state: search.state } : {}),
  }),
})

const runtime = createRoute({
  getParentRoute: () => root,
  path: '/runtimes/$runtimeId',
  component: lazyRouteComponent(() => import('../runtime/runtime-page.tsx'), 'RuntimePage'),
})

const overview = createRoute({
  getParentRoute: () => runtime,
  path: '/',
  component: lazyRouteComponent(() => import('../runtime/overview-tab.tsx'), 'OverviewTab'),
})

/** The routes of the console. Pages that few people open are loaded when they are opened. */
export const router = createRouter({
  basepath: '/console',
  routeTree: root.addChildren([index, runtimes, runtime.addChildren([overview])]),
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
