import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { auditSearchOf } from '../audit/audit-search.ts'
import { loadPart } from '../service/load-part.ts'
import { root } from './root-route.tsx'

const getParentRoute = () => root

/** The routes of the resources beside runtimes. Each page is loaded when it is opened. */
export const resourceRoutes = [
  createRoute({
    getParentRoute,
    path: '/snapshots',
    component: lazyRouteComponent(
      loadPart(() => import('../snapshots/snapshots-page.tsx')),
      'SnapshotsPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/policies',
    component: lazyRouteComponent(
      loadPart(() => import('../policies/policies-page.tsx')),
      'PoliciesPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/policies/$policyId',
    component: lazyRouteComponent(
      loadPart(() => import('../policies/policy-page.tsx')),
      'PolicyPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/secrets',
    component: lazyRouteComponent(
      loadPart(() => import('../secrets/secrets-page.tsx')),
      'SecretsPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/providers',
    component: lazyRouteComponent(
      loadPart(() => import('../providers/providers-page.tsx')),
      'ProvidersPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/events',
    component: lazyRouteComponent(
      loadPart(() => import('../events/events-page.tsx')),
      'EventsPage',
    ),
    validateSearch: (search): { readonly type?: string; readonly subject?: string } => ({
      ...(typeof search.type === 'string' ? { type: search.type } : {}),
      ...(typeof search.subject === 'string' ? { subject: search.subject } : {}),
    }),
  }),
  createRoute({
    getParentRoute,
    path: '/webhooks',
    component: lazyRouteComponent(
      loadPart(() => import('../webhooks/webhooks-page.tsx')),
      'WebhooksPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/webhooks/$webhookId',
    component: lazyRouteComponent(
      loadPart(() => import('../webhooks/webhook-page.tsx')),
      'WebhookPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/audit',
    component: lazyRouteComponent(
      loadPart(() => import('../audit/audit-page.tsx')),
      'AuditPage',
    ),
    validateSearch: auditSearchOf,
  }),
  createRoute({
    getParentRoute,
    path: '/keys',
    component: lazyRouteComponent(
      loadPart(() => import('../keys/keys-page.tsx')),
      'KeysPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/projects',
    component: lazyRouteComponent(
      loadPart(() => import('../projects/projects-page.tsx')),
      'ProjectsPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/pools',
    component: lazyRouteComponent(
      loadPart(() => import('../host/pools-page.tsx')),
      'PoolsPage',
    ),
  }),
  createRoute({
    getParentRoute,
    path: '/host',
    component: lazyRouteComponent(
      loadPart(() => import('../host/host-page.tsx')),
      'HostPage',
    ),
  }),
] as const
