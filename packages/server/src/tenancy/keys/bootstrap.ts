import { makeId, type Scope } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'
import { defaultProject } from '../../foundation/rows/system-project.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { Changes, Store } from '../../foundation/store/open-store.ts'
import { hasScope } from '../auth/key-scopes.ts'
import { digestOf, makeSecret, prefixOf } from '../auth/key-secret.ts'

/** The name of the key of a machine that is in no fleet. */
const onlyMachine = 'admin of this machine'

/** The scopes of this machine's key: all of them. */
const machineScopes: readonly Scope[] = ['admin', 'operator']

/**
 * Makes the default project if it is missing, and returns its id. Writes nothing if it exists,
 * because a start has to succeed on a full disk.
 */
export async function ensureDefaultProject({ db }: Store, now: number): Promise<string> {
  const find = () => db.selectFrom('projects').select('project_id').where('name', '=', defaultProject)
  const known = await find().executeTakeFirst()
  if (known !== undefined) return known.project_id
  await db
    .insertInto('projects')
    .values({ project_id: makeId('project'), name: defaultProject, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await find().executeTakeFirstOrThrow()).project_id
}

/** The key of a machine. */
interface MachineKey {
  readonly projectId: string
  /** The secret that the machine has stored; null: none. */
  readonly known: string | null
  readonly now: number
  /** The host of a fleet whose key it is. Default: the machine is in no fleet. */
  readonly hostId?: string | null
}

/**
 * Returns the key of this machine: the known one if it still has all scopes, else a new one. An
 * operator who has lost the last key removes `credentials.json` and starts the service again. The
 * earlier key of that name is renamed to a former one. After an import it is another machine's. It
 * stays valid, because only the operator knows who has it.
 */
export async function ensureAdminKey(
  { store, log }: { readonly store: Store; readonly log: Log },
  { projectId, known, now, hostId = null }: MachineKey,
): Promise<string> {
  const machineKey = hostId === null ? onlyMachine : keyNameOf(hostId)
  if (known !== null && (await opensAll(store, { projectId, secret: known, now }))) return known
  const secret = makeSecret()
  const former = await store.change(aloneWith(projectId), async (changes) => {
    const renamed = await changes
      .updateTable('keys')
      .set({ name: `former ${machineKey}` })
      .where('project_id', '=', projectId)
      .where('name', '=', machineKey)
      .where('revoked_at', 'is', null)
      .returning('key_id')
      .execute()
    await changes
      .insertInto('keys')
      .values({
        key_id: makeId('key'),
        project_id: projectId,
        name: machineKey,
        prefix: prefixOf(secret),
        digest: digestOf(secret),
        scopes_json: JSON.stringify(machineScopes),
        expires_at: null,
        revoked_at: null,
        created_at: now,
        last_used_at: null,
      })
      .execute()
    return renamed.map(({ key_id }) => key_id)
  })
  if (former.length > 0)
    log.warn({ key_ids: former }, 'this machine has a new key; the former ones still work: revoke unused ones')
  return secret
}

/** Revokes the key of a host that has left its fleet, unless somebody has used it. */
export async function endUnusedKey(changes: Changes, { hostId, at }: { hostId: string; at: number }): Promise<void> {
  await changes
    .updateTable('keys')
    .set({ revoked_at: at })
    .where('name', '=', keyNameOf(hostId))
    .where('revoked_at', 'is', null)
    .where('last_used_at', 'is', null)
    .where('project_id', 'in', (eb) =>
      eb.selectFrom('projects').select('project_id').where('name', '=', defaultProject),
    )
    .execute()
}

/** Returns the name of the key of a host of a fleet. */
function keyNameOf(hostId: string): string {
  return `admin of ${hostId}`
}

async function opensAll(
  { db }: Store,
  { projectId, secret, now }: { projectId: string; secret: string; now: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('keys')
    .select('scopes_json')
    .where('project_id', '=', projectId)
    .where('digest', '=', digestOf(secret))
    .where('revoked_at', 'is', null)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .executeTakeFirst()
  return row !== undefined && machineScopes.every((scope) => hasScope(row, scope))
}
