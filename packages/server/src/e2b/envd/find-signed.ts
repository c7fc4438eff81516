import { setImmediate as nextTurn } from 'node:timers/promises'
import { isSignature, isSigned, type SignedAddress } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { sandboxToken } from '../../inside/ports/sandbox-token.ts'

/**
 * The maximum number of runtimes whose tokens are tried, and those of one turn of the event loop.
 */
const maxTried = 10_000
const perTurn = 250

/**
 * Returns the runtime whose token signed an address that names none, or undefined. Tries the
 * runtimes that have not ended, newest first.
 */
export async function findSigned(
  { store, portSecret }: Api,
  { signature, address }: { readonly signature: string; readonly address: SignedAddress },
): Promise<RuntimeRow | undefined> {
  if (!isSignature(signature)) return undefined
  const holders = await store.db
    .selectFrom('runtimes')
    .select(['runtime_id', 'token_generation'])
    .where('state', 'in', ['running', 'pausing', 'paused', 'resuming'])
    .orderBy('seq', 'desc')
    .limit(maxTried)
    .execute()
  for (const [index, holder] of holders.entries()) {
    if (index % perTurn === perTurn - 1) await nextTurn()
    if (!isSigned(signature, address, sandboxToken(portSecret, 'envd', holder))) continue
    const { runtime_id } = holder
    return store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', runtime_id).executeTakeFirst()
  }
  return undefined
}
