import { sandboxGone } from '@holt/e2b'
import { isIdParam } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'

/**
 * Returns a runtime of any project that a request to its own address reaches. A paused one is
 * reached if requests resume it. Throws the 502 of the data plane for all others. The caller must
 * check a token, or that a port is public, before it uses the row.
 */
export async function findSandbox({ store }: Api, sandboxId: string): Promise<RuntimeRow> {
  const row = isIdParam('runtime_id', sandboxId)
    ? await store.db.selectFrom('runtimes').selectAll().where('runtime_id', '=', sandboxId).executeTakeFirst()
    : undefined
  if (row === undefined || !isReachable(row)) throw sandboxGone(sandboxId)
  return row
}

function isReachable({ state, auto_resume }: RuntimeRow): boolean {
  if (state === 'pausing' || state === 'paused' || state === 'resuming') return auto_resume === 1
  return state !== 'starting' && isAlive(state)
}
