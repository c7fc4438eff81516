import {
  type CreateProvider,
  HoltError,
  type Provider,
  type ProviderSettings,
  type ReplaceProvider,
} from '@holt/protocol'
import { requireFreeName, requireRoom } from '../../foundation/rows/named-rows.ts'
import { removeSealed } from '../../foundation/sealing/sealed-values.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import { readPage } from '../../foundation/store/page-cursor.ts'
import type { ProviderRow } from '../../foundation/store/tables.ts'
import { type Answer, answerPage, type Call } from '../../foundation/wire/call.ts'
import { etagOf, ifMatchOf, requireMatch } from '../../foundation/wire/if-match.ts'
import { discovery } from '../../resources/identity/discovery.ts'
import { findProvider, providerPurpose, settingsOf } from '../../resources/identity/find-provider.ts'
import { recordChange } from '../../tenancy/events/record-change.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of identity providers, and those for verifiers of the service's own tokens. */
export const identityHandlers = {
  createProvider,
  listProviders,
  getProvider: async ({ service, caller, params }) => ({
    status: 200,
    json: present(service, await findProvider(service.store.db, caller.projectId, params.provider_id)),
  }),
  replaceProvider,
  deleteProvider,
  openIdConfiguration: async ({ service }) => ({ status: 200, json: discovery(service.issuer()) }),
  jsonWebKeys: async ({ service }) => ({ status: 200, json: { keys: await service.signingKeys.published() } }),
} satisfies Partial<Handlers>

async function createProvider({ service, caller, body, newId }: Call<'createProvider', Api>): Promise<Answer> {
  const { projectId } = caller
  const providerId = newId('provider')
  const at = service.now()
  const row = await service.store.change(aloneWith(projectId), async (changes) => {
    const earlier = await changes
      .selectFrom('providers')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('provider_id', '=', providerId)
      .executeTakeFirst()
    // The same id is a repeated request whose answer was lost.
    if (earlier !== undefined) return earlier
    await requireRoom(changes, 'providers', projectId)
    await requireFreeName(changes, 'providers', { projectId, name: body.name, what: 'An identity provider' })
    const stored = await changes
      .insertInto('providers')
      .values({
        provider_id: providerId,
        project_id: projectId,
        name: body.name,
        settings_json: JSON.stringify(publicPart(body)),
        version: 1,
        created_at: at,
        updated_at: at,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    await putCredential(service, changes, { row: stored, body })
    await recordChange(changes, { caller, type: 'provider.created', ...eventOf(stored), at })
    return stored
  })
  return { status: 201, json: present(service, row) }
}

async function listProviders({ service, caller, query }: Call<'listProviders', Api>): Promise<Answer> {
  const { store, log } = service
  const rows = store.db.selectFrom('providers').selectAll().where('project_id', '=', caller.projectId)
  return answerPage(await readPage(rows, query, { present: (row) => present(service, row), log }))
}

async function replaceProvider({
  service,
  caller,
  params,
  body,
  headers,
}: Call<'replaceProvider', Api>): Promise<Answer> {
  const { projectId } = caller
  const ifMatch = ifMatchOf(headers)
  const at = service.now()
  const row = await service.store.change(aloneWith(projectId), async (changes) => {
    const current = await findProvider(changes, projectId, params.provider_id)
    requireMatch(ifMatch, { etag: etagOf(current.version), what: `The provider ${current.name}` })
    const { type } = settingsOf(current)
    if (type !== body.type)
      throw new HoltError('unsupported_setting', `This provider is of the type ${type}, which cannot change.`, {
        details: { issues: [{ pointer: '/type', message: `must be ${type}` }] },
      })
    const stored = await changes
      .updateTable('providers')
      .set({ settings_json: JSON.stringify(publicPart(body)), version: current.version + 1, updated_at: at })
      .where('project_id', '=', projectId)
      .where('provider_id', '=', current.provider_id)
      .returningAll()
      .executeTakeFirstOrThrow()
    await putCredential(service, changes, { row: stored, body })
    await recordChange(changes, { caller, type: 'provider.replaced', ...eventOf(stored), at })
    return stored
  })
  return { status: 200, json: present(service, row) }
}

async function deleteProvider({ service, caller, params }: Call<'deleteProvider', Api>): Promise<Answer> {
  const { projectId } = caller
  await service.store.change(aloneWith(projectId), async (changes) => {
    const row = await findProvider(changes, projectId, params.provider_id)
    const users = await changes
      .selectFrom('secrets')
      .select('name')
      .where('project_id', '=', projectId)
      .where('provider_id', '=', row.provider_id)
      .limit(100)
      .execute()
    if (users.length > 0) {
      throw new HoltError('in_use', `Secrets take their value from the identity provider ${row.name}.`, {
        hint: 'First give these secrets a value or another provider, or delete them: details.secrets.',
        details: { secrets: users.map(({ name }) => name) },
      })
    }
    await removeSealed(changes, projectId, row.provider_id)
    await changes
      .deleteFrom('providers')
      .where('project_id', '=', projectId)
      .where('provider_id', '=', row.provider_id)
      .execute()
    await recordChange(changes, { caller, type: 'provider.deleted', ...eventOf(row), at: service.now() })
  })
  return { status: 204 }
}

/** Returns the settings that may be read again. */
function publicPart(body: CreateProvider | ReplaceProvider): ProviderSettings {
  switch (body.type) {
    case 'static':
      return { type: 'static' }
    case 'oauth2': {
      const { type, token_url, client_id, scopes, audience, authentication } = body
      return { type, token_url, client_id, scopes, audience, authentication }
    }
    case 'workload': {
      const { type, audience, ttl_secs, algorithm } = body
      return { type, audience, ttl_secs, algorithm }
    }
  }
}

async function putCredential(
  { sealedValues }: Api,
  changes: Queries,
  { row, body }: { row: ProviderRow; body: CreateProvider | ReplaceProvider },
): Promise<void> {
  if (body.type === 'workload') return
  const value = body.type === 'static' ? body.value : body.client_secret
  const owner = { projectId: row.project_id, ownerId: row.provider_id, purpose: providerPurpose, version: row.version }
  await sealedValues.put(changes, { ...owner, value })
}

function present({ oauthTokens }: Api, row: ProviderRow): Provider {
  const failure = oauthTokens.lastError(row.provider_id)
  return {
    provider_id: row.provider_id as Provider['provider_id'],
    name: row.name,
    settings: settingsOf(row),
    version: row.version,
    last_error: failure === null ? null : { message: failure.message, at: moment(failure.at) },
    etag: etagOf(row.version),
    created_at: moment(row.created_at),
    updated_at: moment(row.updated_at),
  }
}

/** Returns the part of a provider that its events have. */
function eventOf({ provider_id: subjectId, name, version }: ProviderRow) {
  return { subjectId, data: { name, version } }
}
