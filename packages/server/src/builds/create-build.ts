import { createHmac, randomBytes } from 'node:crypto'
import { failpoint } from '@holt/failpoints'
import { type CreateBuild, HoltError, makeId, systemTemplateSizes } from '@holt/protocol'
import { limitReached } from '../foundation/errors/limit-reached.ts'
import { ownedBy } from '../foundation/host/this-host.ts'
import { systemProjectId } from '../foundation/rows/system-project.ts'
import { aloneWith } from '../foundation/store/alone.ts'
import type { BuildRow } from '../foundation/store/build-tables.ts'
import type { Changes, Queries } from '../foundation/store/open-store.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { redactorOf } from '../resources/secrets/redact.ts'
import { recordEvent } from '../tenancy/events/record-event.ts'
import { canonical } from '../tenancy/idempotency/canonical.ts'
import { requireQuotas } from '../tenancy/projects/require-quotas.ts'
import { BuildReporter } from './build-reporter.ts'
import { isFinal } from './build-states.ts'
import type { Builds } from './builds.ts'
import { type BuildRef, buildRow } from './find-build.ts'
import { keepRequest } from './kept-request.ts'
import { type PreparedBuild, prepareBuild } from './prepare-build.ts'
import { failInterrupted } from './recover-builds.ts'

/** The project, the id and the request of a build. */
export interface BuildCreation extends BuildRef {
  readonly request: CreateBuild
  /** The kind of the template: the project's own, or one of Holt's that is built on demand. */
  readonly kind: 'custom' | 'agent'
  /** The id of the template, if the build makes it. Default: a new one. */
  readonly templateId?: string
  /** The digest of the recipe, which shows if a template of Holt must be built again. */
  readonly recipeDigest?: string
}

/** The maximum number of queued builds. Each keeps its request in memory. */
const maxWaiting = { ofProject: 50, ofAll: 200 }

/** The maximum number of templates of a project. */
const maxTemplates = 1000

/**
 * The key of the digest that compares requests. They can contain secrets that are short enough to
 * guess.
 */
const fingerprintKey = randomBytes(32)

/**
 * Starts a build: checks the request, writes its row and its template's, and queues it. A request
 * that equals a build in progress returns that build. A request with an existing id is a retry
 * after a lost answer.
 */
export async function createBuild(service: Builds, creation: BuildCreation): Promise<BuildRow> {
  const { projectId, request, kind } = creation
  const prepared = await prepareBuild(service, projectId, request)
  const fingerprint = fingerprintOf({ prepared, kind })
  return service.builds.creates.run(projectId, async () => {
    const { store, builds } = service
    const earlier = await buildRow(store.db, creation)
    if (earlier !== undefined) return earlier
    const equal = await rowOf(store.db, projectId, builds.findEqual(projectId, fingerprint)?.buildId)
    // An ended build is found until its end is durable.
    if (equal !== undefined && !isFinal(equal.status)) return equal
    requireRoom(service, projectId)
    try {
      const row = await store.change(aloneWith(projectId), (changes) =>
        storeBuild(service, changes, { creation, prepared }),
      )
      await failpoint('build.stored')
      enqueue(service, { row, prepared, fingerprint, recipeDigest: creation.recipeDigest ?? null })
      return row
    } catch (error) {
      // A change whose error was seen may have been made: nobody would carry that build out.
      await failInterrupted(service, creation.buildId)
      throw error
    }
  })
}

/** Returns the digest by which this process finds equal requests. */
export function fingerprintOf({
  prepared: { request, policyKey },
  kind,
}: Pick<BuildCreation, 'kind'> & { readonly prepared: PreparedBuild }): string {
  return createHmac('sha256', fingerprintKey)
    .update(canonical({ ...request, kind, policy: policyKey }))
    .digest('hex')
}

async function rowOf(db: Queries, projectId: string, buildId: string | undefined): Promise<BuildRow | undefined> {
  return buildId === undefined ? undefined : buildRow(db, { projectId, buildId })
}

/** Throws if too many builds wait on this host. */
export function requireRoom({ builds }: Builds, projectId: string): void {
  const { ofProject, ofAll } = builds.waiting(projectId)
  if (ofProject >= maxWaiting.ofProject)
    throw limitReached('quota_exceeded', `${maxWaiting.ofProject} builds of this project already wait.`, {
      limit: maxWaiting.ofProject,
      retry_after_secs: 10,
      hint: 'Wait until some builds have ended, or cancel some.',
    })
  if (ofAll >= maxWaiting.ofAll)
    throw new HoltError('capacity_exhausted', 'Too many builds already wait.', { details: { retry_after_secs: 10 } })
}

/** Queues a build whose row is stored. */
export function enqueue(
  service: Builds,
  {
    row,
    prepared,
    ...more
  }: { row: BuildRow; prepared: PreparedBuild; fingerprint: string; recipeDigest: string | null },
): void {
  const ref = { projectId: row.project_id, buildId: row.build_id, templateId: row.template_id }
  const redact = redactorOfRequest(prepared)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const reporter = new BuildReporter(service, { ...ref, redact })
  service.builds.add({ ...ref, ...more, prepared, reporter, stop: new AbortController(), ended, end })
}

/** Returns the function that blanks the secret values of a request in texts. */
function redactorOfRequest({ request: { build_secrets, registry_auth } }: PreparedBuild): (text: string) => string {
  return redactorOf([...Object.values(build_secrets), registry_auth?.password ?? ''])
}

async function storeBuild(
  service: Builds,
  changes: Changes,
  { creation, prepared }: { creation: BuildCreation; prepared: PreparedBuild },
): Promise<BuildRow> {
  const { projectId, buildId } = creation
  const { name, tag } = prepared.request
  const at = service.now()
  // The size of the template is not known yet. Without one free byte the build does not begin.
  await requireQuotas(service, changes, { projectId, adds: { template_bytes: 1 } })
  const template = await ensureTemplate(changes, { creation, prepared, at })
  const row = await changes
    .insertInto('builds')
    .values({
      build_id: buildId,
      project_id: projectId,
      template_id: template.template_id,
      name,
      tag,
      status: 'queued',
      reason_json: null,
      warnings_json: '[]',
      ignored_json: '[]',
      steps_json: '[]',
      image_digest: null,
      size_bytes: null,
      log_cursor: 0,
      log_bytes: 0,
      created_at: at,
      started_at: null,
      ended_at: null,
      context_id: prepared.request.context_id ?? null,
      ...ownedBy(service.thisHost),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await keepRequest(changes, { projectId, buildId, request: prepared.request, redact: redactorOfRequest(prepared) })
  const data = { from: null, to: 'queued', template_id: template.template_id }
  await recordEvent(changes, { projectId, type: 'build.queued', subjectId: buildId, data, at })
  return row
}

interface Wanted {
  readonly creation: BuildCreation
  readonly prepared: PreparedBuild
  readonly at: number
}

/**
 * Returns the template with a build's name and tag, and creates a missing one. A template that was
 * never ready becomes `building`.
 */
async function ensureTemplate(changes: Changes, wanted: Wanted): Promise<TemplateRow> {
  const { creation, prepared, at } = wanted
  const { projectId, buildId, kind } = creation
  const { name, tag } = prepared.request
  const named = await changes
    .selectFrom('templates')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .execute()
  if (kind === 'custom' && (await isProvided(changes, name)))
    throw new HoltError('name_taken', `${name} is a template that Holt provides.`, {
      hint: 'Choose another name, and build on this template with from_template.',
    })
  const row = named.find((one) => one.tag === tag)
  if (row === undefined) return insertTemplate(changes, wanted)
  const begins = row.image_digest === null && row.state !== 'building'
  const changed = await changes
    .updateTable('templates')
    .set({
      build_id: buildId,
      updated_at: at,
      revision: row.revision + 1,
      ...(begins ? { state: 'building', state_reason_json: null } : {}),
    })
    .where('project_id', '=', projectId)
    .where('template_id', '=', row.template_id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (begins) await tellBuilding(changes, changed, { from: row.state, at })
  return changed
}

/** Returns true if Holt provides templates of this name. */
async function isProvided(changes: Queries, name: string): Promise<boolean> {
  if (systemTemplateSizes.some((one) => one.name === name)) return true
  const row = await changes
    .selectFrom('templates')
    .select('template_id')
    .where('project_id', '=', systemProjectId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

async function insertTemplate(
  changes: Changes,
  { creation: { projectId, buildId, kind, templateId = makeId('template') }, prepared: { request, size }, at }: Wanted,
): Promise<TemplateRow> {
  await requireRoomForTemplate(changes, projectId)
  const row = await changes
    .insertInto('templates')
    .values({
      template_id: templateId,
      project_id: projectId,
      name: request.name,
      tag: request.tag,
      kind,
      state: 'building',
      source: request.from_image ?? request.from_template ?? request.from_snapshot ?? 'a Dockerfile',
      cpu: size.cpu,
      memory_mib: size.memoryMiB,
      disk_mib: size.diskMiB,
      env_json: '{}',
      user: request.user ?? 'root',
      workdir: request.workdir ?? '/',
      facts_json: '{}',
      start_cmd: request.start_cmd ?? null,
      ready_cmd: request.ready_cmd ?? null,
      on_restore: request.on_restore ?? null,
      build_id: buildId,
      created_at: at,
      updated_at: at,
      revision: 1,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await tellBuilding(changes, row, { from: null, at })
  return row
}

/** Throws if a project has as many templates as it may have. */
export async function requireRoomForTemplate(changes: Queries, projectId: string): Promise<void> {
  const { count } = await changes
    .selectFrom('templates')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  if (Number(count) < maxTemplates) return
  throw limitReached('quota_exceeded', `A project has at most ${maxTemplates} templates.`, {
    limit: maxTemplates,
    hint: 'Delete unused ones.',
  })
}

async function tellBuilding(
  changes: Changes,
  { project_id: projectId, template_id: subjectId }: TemplateRow,
  { from, at }: { from: TemplateRow['state'] | null; at: number },
): Promise<void> {
  await recordEvent(changes, { projectId, type: 'template.building', subjectId, data: { from, to: 'building' }, at })
}
