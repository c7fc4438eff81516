import { buildIdOf, holtName } from '@holt/e2b'
import { type ErrorCode, HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import { findSnapshot } from '../../runtimes/snapshots/find-snapshot.ts'
import { namedById } from '../sandbox/client-template-id.ts'
import { tagsOf } from './template-rows-of.ts'

/** The source of a create. */
export type NamedSource = { readonly template: TemplateRow } | { readonly snapshotId: string }

/** Matches a name of a template as clients write it, without a project and a tag. */
const plainName = /^[a-z0-9_-]+$/

/** The templates for names of clients, used if the project has no template of that name. */
const otherNames: ReadonlyMap<string, string> = new Map([['code-interpreter-v1', 'code-interpreter']])

/**
 * Returns the template or snapshot of a `templateID`: an id, a name, `name:tag`, or `name:` and the
 * UUID of a build. Names may begin with the project's own.
 */
export async function findByName(service: Api, projectId: string, reference: string): Promise<NamedSource> {
  const name = await withoutProject(service, projectId, reference)
  const byId = await namedById(service, projectId, name)
  if (byId !== null) return { template: await findTagged(service, projectId, { ...byId, reference }) }
  const ofBuild = await findByBuild(service, projectId, name)
  if (ofBuild !== null) return { template: ofBuild }
  const template = await ifFound('template_not_found', () => findByTag(service, projectId, name))
  if (template !== null) return { template }
  const snapshot = await ifFound('snapshot_not_found', () =>
    findSnapshot(service.store.db, { projectId, reference: withoutTag(name) }),
  )
  if (snapshot !== null) return { snapshotId: snapshot.snapshot_id }
  const plain = withoutTag(name)
  const other = plain === 'base' ? service.config.e2b?.base : otherNames.get(plain)
  const known =
    other === undefined ? null : await ifFound('template_not_found', () => findByTag(service, projectId, other))
  if (known !== null) return { template: known }
  throw new HoltError('template_not_found', `template '${reference}' not found`)
}

/**
 * Returns the template or snapshot of a `templateID`, if a name means all tags of a template. A
 * template without the default tag is found by its newest tag.
 */
export async function findWhole(service: Api, projectId: string, reference: string): Promise<NamedSource> {
  try {
    return await findByName(service, projectId, reference)
  } catch (error) {
    const name = await withoutProject(service, projectId, reference)
    const newest = plainName.test(name)
      ? (await tagsOf(service, { projectId, name: holtName(name) })).at(-1)
      : undefined
    if (newest === undefined) throw error
    return { template: newest }
  }
}

/**
 * Returns a template that a `templateID` names, with all its tags. Throws `template_not_found`,
 * also for a snapshot.
 */
export async function findTemplateByName(service: Api, projectId: string, reference: string): Promise<TemplateRow> {
  const found = await findWhole(service, projectId, reference)
  if ('template' in found) return found.template
  throw new HoltError('template_not_found', `template '${reference}' not found`)
}

/**
 * Returns the template that a build made, for `name:` and the UUID of the build. Null for every
 * other reference. Clients tell a build in progress from a missing name by this message.
 */
async function findByBuild(service: Api, projectId: string, reference: string): Promise<TemplateRow | null> {
  const [, name = '', uuid = ''] = /^([^:]+):([^:]+)$/.exec(reference) ?? []
  const buildId = buildIdOf(uuid)
  if (buildId === undefined) return null
  const rows = await tagsOf(service, { projectId, name: holtName(name) })
  const row = rows.find(({ build_id, state }) => build_id === buildId && state === 'ready')
  if (row === undefined)
    throw new HoltError('template_not_found', `tag '${uuid}' does not exist for template '${name}'`)
  return row
}

function findByTag(service: Api, projectId: string, name: string): Promise<TemplateRow> {
  return findTemplate(service, { projectId, reference: asHolts(withoutTag(name)) })
}

/** Returns the template with a tag. Without a tag, it is the default one, or else the newest. */
async function findTagged(
  service: Api,
  projectId: string,
  { name, tag, reference }: { readonly name: string; readonly tag: string | null; readonly reference: string },
): Promise<TemplateRow> {
  const tagged = tag === null ? name : `${name}:${tag}`
  const row = await ifFound('template_not_found', () => findByTag(service, projectId, tagged))
  const newest = tag === null ? (await tagsOf(service, { projectId, name })).at(-1) : undefined
  const found = row ?? newest
  if (found !== undefined) return found
  throw new HoltError('template_not_found', `template '${reference}' not found`)
}

/** Returns a name as Holt keeps it. Everything else is unchanged, such as an id. */
function asHolts(reference: string): string {
  const [name = '', ...tag] = reference.split(':')
  return plainName.test(name) ? [holtName(name), ...tag].join(':') : reference
}

/** Returns a name without the tag `default`, which clients add to a name without a tag. */
function withoutTag(name: string): string {
  return name.endsWith(':default') ? name.slice(0, -':default'.length) : name
}

/** Returns a name without the name of the project before it. */
export async function withoutProject({ store }: Api, projectId: string, reference: string): Promise<string> {
  const [, project, name] = /^([^/]+)\/([^/]+)$/.exec(reference) ?? []
  if (project === undefined || name === undefined) return reference
  const own = await store.db
    .selectFrom('projects')
    .select('name')
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return own?.name === project ? name : reference
}

/** Returns the result of a search, or null if the search throws an error with this code. */
async function ifFound<Found>(code: ErrorCode, find: () => Promise<Found>): Promise<Found | null> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof HoltError && error.code === code) return null
    throw error
  }
}
