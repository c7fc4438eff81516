import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { filesSearch } from '../files/files-route.ts'
import { RuntimesPage } from '../runtimes/runtimes-page.tsx'
import { runtimesSearch } from '../runtimes/runtimes-search.ts'
import { loadPart } from '../service/load-part.ts'
import { resourceRoutes } from './resource-routes.ts'
import { root } from './root-route.tsx'

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/runtimes', replace: true })
  },
})

const runtimes = createRoute({
  getParentRoute: () => root,
  path: '/runtimes',
  component: RuntimesPage,
  validateSearch: runtimesSearch,
})

const runtime = createRoute({
  getParentRoute: () => root,
  path: '/runtimes/$runtimeId',
  component: lazyRouteComponent(
    loadPart(() => import('../runtime/runtime-page.tsx')),
    'RuntimePage',
  ),
})

const overview = createRoute({
  getParentRoute: () => runtime,
  path: '/',
  component: lazyRouteComponent(
    loadPart(() => import('../runtime/overview-tab.tsx')),
    'OverviewTab',
  ),
})

const templates = createRoute({
  getParentRoute: () => root,
  path: '/templates',
  component: lazyRouteComponent(
    loadPart(() => import('../templates/templates-page.tsx')),
    'TemplatesPage',
  ),
  validateSearch: (search): { readonly find?: string; readonly kind?: string } => ({
    ...(typeof search.find === 'string' ? { find: search.find } : {}),
    ...(typeof search.kind === 'string' ? { kind: search.kind } : {}),
  }),
})

const template = createRoute({
  getParentRoute: () => root,
  path: '/templates/$template',
  component: lazyRouteComponent(
    loadPart(() => import('../templates/template-page.tsx')),
    'TemplatePage',
  ),
})

/** The form of a build. No template can have this name, because the API has such a path as well. */
const newBuild = createRoute({
  getParentRoute: () => root,
  path: '/templates/build',
  component: lazyRouteComponent(
    loadPart(() => import('../builds/new-build-page.tsx')),
    'NewBuildPage',
  ),
  validateSearch: (search): { readonly from?: string; readonly name?: string; readonly tag?: string } => ({
    ...(typeof search.from === 'string' ? { from: search.from } : {}),
    ...(typeof search.name === 'string' ? { name: search.name } : {}),
    ...(typeof search.tag === 'string' ? { tag: search.tag } : {}),
  }),
})

const builds = createRoute({
  getParentRoute: () => root,
  path: '/builds',
  component: lazyRouteComponent(
    loadPart(() => import('../builds/builds-page.tsx')),
    'BuildsPage',
  ),
})

const build = createRoute({
  getParentRoute: () => root,
  path: '/builds/$buildId',
  component: lazyRouteComponent(
    loadPart(() => import('../builds/build-page.tsx')),
    'BuildPage',
  ),
})

/** The directory and the open file are in the address, so that a reload shows the same. */
const files = createRoute({
  getParentRoute: () => runtime,
  path: '/files',
  component: lazyRouteComponent(
    loadPart(() => import('../files/files-tab.tsx')),
    'FilesTab',
  ),
  validateSearch: filesSearch,
})

const terminal = createRoute({
  getParentRoute: () => runtime,
  path: '/terminal',
  component: lazyRouteComponent(
    loadPart(() => import('../terminal/terminal-tab.tsx')),
    'TerminalTab',
  ),
})

/** The command whose output is shown is in the address. */
const commands = createRoute({
  getParentRoute: () => runtime,
  path: '/commands',
  component: lazyRouteComponent(
    loadPart(() => import('../commands/commands-tab.tsx')),
    'CommandsTab',
  ),
  validateSearch: (search): { readonly show?: string } =>
    typeof search.show === 'string' ? { show: search.show } : {},
})

const ports = createRoute({
  getParentRoute: () => runtime,
  path: '/ports',
  component: lazyRouteComponent(
    loadPart(() => import('../ports/ports-tab.tsx')),
    'PortsTab',
  ),
})

const network = createRoute({
  getParentRoute: () => runtime,
  path: '/network',
  component: lazyRouteComponent(
    loadPart(() => import('../network/network-tab.tsx')),
    'NetworkTab',
  ),
})

const metrics = createRoute({
  getParentRoute: () => runtime,
  path: '/metrics',
  component: lazyRouteComponent(
    loadPart(() => import('../metrics/metrics-tab.tsx')),
    'MetricsTab',
  ),
})

const runtimeEvents = createRoute({
  getParentRoute: () => runtime,
  path: '/events',
  component: lazyRouteComponent(
    loadPart(() => import('../runtime/runtime-events-tab.tsx')),
    'RuntimeEventsTab',
  ),
})

const code = createRoute({
  getParentRoute: () => runtime,
  path: '/code',
  component: lazyRouteComponent(
    loadPart(() => import('../code/code-tab.tsx')),
    'CodeTab',
  ),
})

/** The routes of the console. Pages that few people open are loaded when they are opened. */
export const router = createRouter({
  basepath: '/console',
  routeTree: root.addChildren([
    index,
    runtimes,
    runtime.addChildren([overview, terminal, commands, files, ports, network, metrics, runtimeEvents, code]),
    ...[templates, template, newBuild],
    ...[builds, build],
    ...resourceRoutes,
  ]),
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
