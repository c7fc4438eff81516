import type { Route } from '../route.ts'
import { commandRoutes } from './command-routes.ts'
import { fileRoutes } from './file-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { runtimeRoutes } from './runtime-routes.ts'
import { serviceRoutes } from './service-routes.ts'
import { templateRoutes } from './template-routes.ts'

/** Every route of the API. */
export const routes = {
  ...runtimeRoutes,
  ...commandRoutes,
  ...fileRoutes,
  ...templateRoutes,
  ...keyRoutes,
  ...serviceRoutes,
} as const satisfies Record<string, Route>

/** The name of a route. */
export type RouteName = keyof typeof routes
