import { type Route, type RouteName, routes } from '@holt/protocol'

/** The method and path of a route, and the scope of key that it needs. */
export type RouteAddress = Pick<Route, 'method' | 'path' | 'scope'>

/**
 * The address of every route, the only part of the route table that a client needs. The bundle of
 * the command holds it as plain data, without the schemas.
 */
export const routeAddresses = Object.fromEntries(
  Object.entries(routes).map(([name, { method, path, scope }]) => [name, { method, path, scope }]),
) as Readonly<Record<RouteName, RouteAddress>>
