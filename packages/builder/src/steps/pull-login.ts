import type { BuildRequest } from '../contract/build-contract.ts'
import type { BuildPlan } from '../dockerfile/plan.ts'
import { isImageReference } from '../image/reference.ts'
import { imageAddressOf } from '../registry/image-address.ts'

/**
 * Sets the registry of credentials that name none: that of the first FROM with a container image.
 * Without such a FROM the credentials are for no registry, so that no other registry in a
 * Dockerfile ever gets them.
 */
export function pullLogin(
  auth: BuildRequest['registryAuth'],
  plan: Pick<BuildPlan, 'stages'>,
): BuildRequest['registryAuth'] {
  if (auth === null || auth.registry !== null) return auth
  const inOrder = [...plan.stages].sort((one, other) => one.index - other.index)
  const first = inOrder.flatMap(({ base }) => (base.type === 'image' ? [base.reference] : []))[0]
  return { ...auth, registry: first !== undefined && isImageReference(first) ? imageAddressOf(first).registry : '' }
}
