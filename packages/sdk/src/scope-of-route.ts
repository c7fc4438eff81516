import type { RouteName, Scope } from '@holt/protocol'
import { routeAddresses } from './transport/route-addresses.ts'

/**
 * Returns the scope that a key needs for a route of the API. `any`: every key is enough. Null: no
 * key is needed.
 */
export function scopeOfRoute(name: RouteName): Scope | 'any' | null {
  return routeAddresses[name].scope
}
