import {
  type CreateSecret,
  defaultEnvName,
  defaultFormat,
  defaultHeader,
  HoltError,
  type ReplaceSecret,
  type Secret,
  secretDefaults,
} from '@holt/protocol'
import { requireFreeName, requireRoom } from '../../foundation/rows/named-rows.ts'
import { removeSealed } from '../../foundation/sealing/sealed-values.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Changes, Queries } from '../../foundation/store/open-store.ts'
import { readPage } from '../../foundation/store/page-cursor.ts'
import type { ProviderRow, SecretRow } from '../../foundation/store/tables.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { etagOf, ifMatchOf, requireMatch } from '../../foundation/wire/if-match.ts'
import { findProvider, settingsOf } from '../../resources/identity/find-provider.ts'
import { findSecret, presentSecret, secretPurpose } from '../../resources/secrets/find-secret.ts'
import { recordChange } from '../../tenancy/events/record-change.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of secrets. */
export const secretHandlers = {
  createSecret,
  listSecrets,
  getSecret: async ({ service, caller, params }) => {
    const { db } = service.store
    return { status: 200, json: await present(db, await findSecret(db, caller.projectId, params.secret_id)) }
  },
  replaceSecret,
  deleteSecret,
  rotateSecretKey,
} satisfies Partial<Handlers>

type Caller = Call<'createSecret', Api>['caller']

async function createSecret({ service, caller, body, newId }: Call<'createSecret', Api>): Promise<Answer> {
  const secretId = newId('secret')
  const json = await service.store.change(aloneWith(caller.projectId), async (changes) => {
    const earlier = await changes
      .selectFrom('secrets')
      .selectAll()
      .where('project_id', '=', caller.projectId)
      .where('secret_id', '=', secretId)
      .executeTakeFirst()
    // The same id is a repeated request whose answer was lost.
    if (earlier !== undefined) return present(changes, earlier)
    return store(service, changes, { caller, secretId, body })
  })
  return { status: 201, json }
}

async function store(
  service: Api,
  changes: Changes,
  { caller, secretId, body }: { caller: Caller; secretId: string; body: CreateSecret },
): Promise<Secret> {
  const { projectId } = caller
  const at = service.now()
  await requireRoom(changes, 'secrets', projectId)
  await requireFreeName(changes, 'secrets', { projectId, name: body.name, what: 'A secret' })
  const provider = body.provider === undefined ? null : await findProvider(changes, projectId, body.provider)
  if (body.env) refuseExpiringInside(provider)
  const defaults = secretDefaults(body.name)
  const header = body.header ?? defaults?.header ?? defaultHeader
  const ownFormat = body.header === undefined || body.header === defaults?.header ? defaults?.format : undefined
  const row = await changes
    .insertInto('secrets')
    .values({
      secret_id: secretId,
      project_id: projectId,
      name: body.name,
      version: 1,
      provider_id: provider?.provider_id ?? null,
      hosts_json: JSON.stringify(body.env ? [] : [...new Set(body.hosts ?? defaults?.hosts ?? [])]),
      header: body.env ? null : header,
      format: body.env ? null : (body.format ?? ownFormat ?? defaultFormat(header)),
      inside: body.env ? 1 : 0,
      env_name: body.env_name ?? defaults?.envName ?? defaultEnvName(body.name),
      created_at: at,
      updated_at: at,
      deleted_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  if (body.value !== undefined) await putValue(service, changes, { row, value: body.value })
  await recordChange(changes, { caller, type: 'secret.created', ...eventOf(row), at })
  return present(changes, row)
}

async function listSecrets({ service, caller, query }: Call<'listSecrets', Api>): Promise<Answer> {
  const rows = service.store.db
    .selectFrom('secrets')
    .leftJoin('providers', (join) =>
      join
        .onRef('providers.provider_id', '=', 'secrets.provider_id')
        .onRef('providers.project_id', '=', 'secrets.project_id'),
    )
    .selectAll('secrets')
    .select('providers.name as provider_name')
    .where('secrets.project_id', '=', caller.projectId)
    .where('secrets.deleted_at', 'is', null)
  return answerPage(await readPage(rows, query, { present: presentSecret, log: service.log, seq: 'secrets.seq' }))
}

/**
 * Gives a secret a new version. When this returns, all its runtimes follow, at all hosts. Throws
 * `unavailable` if a host did not apply it in time.
 */
async function replaceSecret({ service, caller, params, body, headers }: Call<'replaceSecret', Api>): Promise<Answer> {
  const { projectId } = caller
  const ifMatch = ifMatchOf(headers)
  const { secret_id } = await findSecret(service.store.db, projectId, params.secret_id)
  const json = await following(service, { projectId, secretId: secret_id }, async (changes) => {
    const current = await findSecret(changes, projectId, secret_id)
    requireMatch(ifMatch, { etag: etagOf(current.version), what: `The secret ${current.name}` })
    refuseOtherPlace(current, body)
    refuseMeaningless(current, body)
    const row = await write(service, changes, { current, body })
    await recordChange(changes, { caller, type: 'secret.replaced', ...eventOf(row), at: row.updated_at })
    return present(changes, row)
  })
  await service.changesElsewhere.apply({ type: 'secret', projectId, secretId: secret_id })
  return { status: 200, json }
}

/**
 * Changes a secret and applies the stored version to its runtimes. A change that returned an error
 * may still have been made, so this happens after failures too.
 */
async function following<Result>(
  { store, networks }: Api,
  { projectId, secretId }: { projectId: string; secretId: string },
  change: (changes: Changes) => Promise<Result>,
): Promise<Result> {
  try {
    return await store.change(aloneWith(projectId), change)
  } finally {
    await networks.secretChanged(projectId, secretId)
  }
}

async function write(
  service: Api,
  changes: Changes,
  { current, body }: { current: SecretRow; body: ReplaceSecret },
): Promise<SecretRow> {
  const { project_id, secret_id } = current
  const provider = body.provider === undefined ? null : await findProvider(changes, project_id, body.provider)
  if (current.inside === 1) refuseExpiringInside(provider)
  const header = body.header ?? current.header
  const formatOfHeader = header === null || header === current.header ? current.format : defaultFormat(header)
  const row = await changes
    .updateTable('secrets')
    .set({
      version: current.version + 1,
      provider_id: body.value === undefined ? (provider?.provider_id ?? current.provider_id) : null,
      ...(body.hosts === undefined ? {} : { hosts_json: JSON.stringify([...new Set(body.hosts)]) }),
      header,
      format: body.format ?? formatOfHeader,
      updated_at: service.now(),
    })
    .where('project_id', '=', project_id)
    .where('secret_id', '=', secret_id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (body.value !== undefined) await putValue(service, changes, { row, value: body.value })
  else if (provider !== null) await removeSealed(changes, project_id, secret_id)
  return row
}

/**
 * Deletes a secret. Its value is removed immediately, and every host reads it for each use. Its row
 * stays while runtimes have its placeholder.
 */
async function deleteSecret({ service, caller, params }: Call<'deleteSecret', Api>): Promise<Answer> {
  const { projectId } = caller
  const { secret_id } = await findSecret(service.store.db, projectId, params.secret_id)
  await following(service, { projectId, secretId: secret_id }, async (changes) => {
    const row = await findSecret(changes, projectId, secret_id)
    const at = service.now()
    await removeSealed(changes, projectId, row.secret_id)
    await changes
      .updateTable('secrets')
      .set({ deleted_at: at, provider_id: null })
      .where('project_id', '=', projectId)
      .where('secret_id', '=', row.secret_id)
      .execute()
    await recordChange(changes, { caller, type: 'secret.deleted', ...eventOf(row), at })
  })
  return { status: 204 }
}

async function putValue(
  { sealedValues }: Api,
  changes: Queries,
  { row, value }: { row: SecretRow; value: string },
): Promise<void> {
  await sealedValues.put(changes, {
    projectId: row.project_id,
    ownerId: row.secret_id,
    purpose: secretPurpose,
    version: row.version,
    value,
  })
}

/**
 * Throws if a change affects the place or the variable of a secret. Its runtimes were made with
 * them.
 */
function refuseOtherPlace(current: SecretRow, { env, env_name }: ReplaceSecret): void {
  if ((env ?? current.inside === 1) === (current.inside === 1) && (env_name ?? current.env_name) === current.env_name)
    return
  throw new HoltError('conflict', 'The fields env and env_name of a secret cannot change.', {
    hint: 'Delete the secret and store it anew.',
  })
}

function refuseMeaningless(current: SecretRow, body: ReplaceSecret): void {
  for (const field of ['hosts', 'header', 'format'] as const) {
    if (current.inside === 1 && body[field] !== undefined)
      throw invalidField(`/${field}`, 'has no meaning where the value itself is in the runtime (env)')
  }
}

/**
 * Refuses providers of expiring values. A value inside a runtime has to stay valid for the
 * runtime's life.
 */
function refuseExpiringInside(provider: ProviderRow | null): void {
  if (provider === null || settingsOf(provider).type === 'static') return
  throw invalidField('/provider', 'makes values that expire: they cannot be put into runtimes (env)')
}

async function present(db: Queries, row: SecretRow): Promise<Secret> {
  const provider =
    row.provider_id === null
      ? undefined
      : await db
          .selectFrom('providers')
          .select('name')
          .where('project_id', '=', row.project_id)
          .where('provider_id', '=', row.provider_id)
          .executeTakeFirst()
  return presentSecret({ ...row, provider_name: provider?.name ?? null })
}

/** Returns the part of a secret that its events have. */
function eventOf({ secret_id: subjectId, name, version }: SecretRow) {
  return { subjectId, data: { name, version } }
}

async function rotateSecretKey({ service, caller }: Call<'rotateSecretKey', Api>): Promise<Answer> {
  const resealed = await service.rotateMasterKey()
  const at = service.now()
  await service.store.change(aloneWith(caller.projectId), (changes) =>
    recordChange(changes, { caller, type: 'secret_key.rotated', subjectId: caller.keyId, data: {}, at }),
  )
  return { status: 200, json: { resealed, rotated_at: moment(at) } }
}
