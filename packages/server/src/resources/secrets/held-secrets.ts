import type { RuntimeSecret } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { SecretRow } from '../../foundation/store/tables.ts'

/** A secret of a runtime, with its placeholder inside. */
export type HeldSecret = SecretRow & { readonly placeholder: string | null }

/** Returns the secrets of a runtime in the requested order, including deleted ones. */
export async function heldSecrets(db: Queries, { projectId, runtimeId }: RuntimeRef): Promise<readonly HeldSecret[]> {
  return db
    .selectFrom('runtime_secrets')
    .innerJoin('secrets', 'secrets.secret_id', 'runtime_secrets.secret_id')
    .selectAll('secrets')
    .select('runtime_secrets.placeholder')
    .where('runtime_secrets.project_id', '=', projectId)
    .where('secrets.project_id', '=', projectId)
    .where('runtime_secrets.runtime_id', '=', runtimeId)
    .orderBy('runtime_secrets.position')
    .execute()
}

/** Returns a secret as the network of a runtime shows it. */
export function presentHeld(secret: HeldSecret): RuntimeSecret {
  return {
    name: secret.name,
    env_name: secret.env_name,
    inside: secret.inside === 1,
    hosts: JSON.parse(secret.hosts_json),
    header: secret.header,
    available: secret.deleted_at === null,
  }
}
