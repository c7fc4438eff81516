import type { Route } from '../route.ts'
import { auditRoutes } from './audit-routes.ts'
import { buildRoutes } from './build-routes.ts'
import { codeRoutes } from './code-routes.ts'
import { commandRoutes } from './command-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { fileRoutes } from './file-routes.ts'
import { hostRoutes } from './host-routes.ts'
import { identityRoutes } from './identity-routes.ts'
import { joinTokenRoutes } from './join-token-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { metricsRoutes } from './metrics-routes.ts'
import { networkRoutes } from './network-routes.ts'
import { policyRoutes } from './policy-routes.ts'
import { portRoutes } from './port-routes.ts'
import { projectRoutes } from './project-routes.ts'
import { runtimeRoutes } from './runtime-routes.ts'
import { secretRoutes } from './secret-routes.ts'
import { serviceRoutes } from './service-routes.ts'
import { snapshotRoutes } from './snapshot-routes.ts'
import { templateRoutes } from './template-routes.ts'
import { treeRoutes } from './tree-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

/** The routes of the API. */
export const routes = {
  ...runtimeRoutes,
  ...commandRoutes,
  ...codeRoutes,
  ...fileRoutes,
  ...portRoutes,
  ...treeRoutes,
  ...buildRoutes,
  ...templateRoutes,
  ...networkRoutes,
  ...snapshotRoutes,
  ...policyRoutes,
  ...secretRoutes,
  ...identityRoutes,
  ...keyRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...projectRoutes,
  ...hostRoutes,
  ...joinTokenRoutes,
  ...serviceRoutes,
  ...metricsRoutes,
} as const satisfies Record<string, Route>

/** The routes by subject, in the order of the documents. */
export const routeGroups = {
  Runtimes: runtimeRoutes,
  Commands: commandRoutes,
  Code: codeRoutes,
  Files: { ...fileRoutes, ...treeRoutes },
  Ports: portRoutes,
  Snapshots: snapshotRoutes,
  Templates: { ...templateRoutes, ...buildRoutes },
  Network: { ...networkRoutes, ...policyRoutes },
  Secrets: { ...secretRoutes, ...identityRoutes },
  Events: { ...eventRoutes, ...webhookRoutes, ...auditRoutes },
  Keys: keyRoutes,
  Projects: projectRoutes,
  Service: { ...hostRoutes, ...joinTokenRoutes, ...serviceRoutes, ...metricsRoutes },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Route>>>>

/** The name of a route. */
export type RouteName = keyof typeof routes
