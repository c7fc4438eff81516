import { readPage } from '../../foundation/store/page-cursor.ts'
import type { KeyRow } from '../../foundation/store/tables.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { createKey } from '../../tenancy/keys/create-key.ts'
import { findKey, projectOfKeys } from '../../tenancy/keys/find-key.ts'
import { presentKey } from '../../tenancy/keys/present-key.ts'
import { revokeKey } from '../../tenancy/keys/revoke-key.ts'
import { rotateKey } from '../../tenancy/keys/rotate-key.ts'
import { whoami } from '../../tenancy/keys/whoami.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of keys. */
export const keyHandlers = {
  createKey: async ({ service, caller, body, newId }) => {
    const { row, secret } = await createKey(service, { keyId: newId('key'), request: body, caller })
    return { status: 201, json: { ...presentKey(row, service.now()), key: secret } }
  },
  listKeys,
  getKey: async ({ service, caller, params }) => ({
    status: 200,
    json: presentKey(await findKey(service.store.db, caller, params.key_id), service.now()),
  }),
  rotateKey: async ({ service, caller, params, body, newId }) => {
    // A rotation has no id of its own. A repeated request has the same one.
    const rotation = { rotationId: newId('key'), overlapMs: body.overlap_secs * 1000 }
    const { row, secret } = await rotateKey(service, { ...rotation, keyId: params.key_id, caller })
    return { status: 200, json: { ...presentKey(row, service.now()), key: secret } }
  },
  revokeKey: async ({ service, caller, params }) => {
    await revokeKey(service, { keyId: params.key_id, caller })
    return { status: 204 }
  },
  whoami: async ({ service, caller }) => ({ status: 200, json: await whoami(service, caller) }),
} satisfies Partial<Handlers>

async function listKeys({ service, caller, query }: Call<'listKeys', Api>): Promise<Answer> {
  const { db } = service.store
  const rows = db
    .selectFrom('keys')
    .selectAll()
    .where('project_id', '=', await projectOfKeys(db, caller, query.project))
    .where('revoked_at', 'is', null)
  const present = (row: KeyRow) => presentKey(row, service.now())
  return answerPage(await readPage(rows, query, { present, log: service.log }))
}
