import { HoltError } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { Resources } from '../resources.ts'
import { heldSecrets } from './held-secrets.ts'

/**
 * Returns the variables of a runtime's secrets. Each is a placeholder, or the value itself if it is
 * inside.
 */
export async function secretEnv(service: Resources, ref: RuntimeRef): Promise<Readonly<Record<string, string>>> {
  const env: Record<string, string> = {}
  for (const { secret_id, name, env_name, placeholder } of await heldSecrets(service.store.db, ref)) {
    env[env_name] = placeholder ?? (await valueInside(service, ref, { secret_id, name }))
  }
  return env
}

/** Returns the values of those variables, which nobody outside may read. */
export async function secretValues(service: Resources, ref: RuntimeRef): Promise<readonly string[]> {
  return Object.values(await secretEnv(service, ref))
}

async function valueInside(
  service: Resources,
  ref: RuntimeRef,
  { secret_id, name }: { readonly secret_id: string; readonly name: string },
): Promise<string> {
  const found = await service.secretValue(secret_id, ref)
  if (found === null) throw new HoltError('unavailable', `The secret ${name} was deleted while the runtime was made.`)
  return found.value
}
