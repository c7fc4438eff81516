import type { BuildPlan } from '../dockerfile/plan.ts'
import { isImageReference } from '../image/reference.ts'
import { placeOf } from '../registry/place.ts'
import type { BuildRequest } from './contract.ts'

/**
 * Says which registry credentials are for, where their owner did not: that of the first FROM that
 * names a container image. Without one they are for nobody, so that no other registry that a
 * Dockerfile names is ever shown them.
 */
export function pullLogin(
  auth: BuildRequest['registryAuth'],
  plan: Pick<BuildPlan, 'stages'>,
): BuildRequest['registryAuth'] {
  if (auth === null || auth.registry !== null) return auth
  const inOrder = [...plan.stages].sort((one, other) => one.index - other.index)
  const first = inOrder.flatMap(({ base }) => (base.type === 'image' ? [base.reference] : []))[0]
  return { ...auth, registry: first !== undefined && isImageReference(first) ? placeOf(first).registry : '' }
}
