import { CreateBuild, defaultTemplate, HoltError, makeId } from '@holt/protocol'
import { createBuild } from '../builds/create-build.ts'
import type { Service } from '../service.ts'
import type { BuildRow } from '../store/build-tables.ts'
import type { TemplateRow } from '../store/tables.ts'
import { findTemplate, requireReady, templateName } from '../templates/find-template.ts'

/** How an agent template is built. */
export interface Pull {
  readonly buildId: string
  /** Nothing of earlier builds is used. */
  readonly noCache: boolean
}

/**
 * Starts the build of an agent template, or answers the equal one that is under way. All of them
 * are made on the base, which therefore has to be ready.
 */
export async function pullAgentTemplate(service: Service, row: TemplateRow, pull: Pull): Promise<BuildRow> {
  const agent = service.agents.require(row)
  const { project_id: projectId } = row
  await requireBase(service, projectId)
  const request = CreateBuild.parse({
    name: agent.name,
    tag: row.tag,
    dockerfile: agent.dockerfile,
    cpu: agent.cpu,
    memory: `${agent.memoryMiB}MiB`,
    disk: `${agent.diskMiB}MiB`,
    network_policy: agent.buildNetwork,
    no_cache: pull.noCache,
  })
  return createBuild(service, {
    projectId,
    buildId: pull.buildId,
    request,
    kind: 'agent',
    recipeDigest: agent.digest,
  })
}

async function requireBase(service: Service, projectId: string): Promise<void> {
  requireReady(service, await findTemplate(service, { projectId, reference: defaultTemplate }))
}

/** The image of a template as it is now: `imageToUse` without the builds that it starts. */
export async function imageAsItIs(service: Service, row: TemplateRow): Promise<string> {
  if (!isUnbuilt(service, row)) return requireReady(service, row)
  await requireBase(service, row.project_id)
  throw new HoltError('unavailable', `The template ${templateName(row)} is not built yet. A create starts its build.`, {
    hint: `Build it first: holt template pull ${row.name}`,
    details: { template_state: row.state },
  })
}

/** Whether a template is one that its first create has built. */
function isUnbuilt({ agents }: Service, row: TemplateRow): boolean {
  return row.state === 'unbuilt' && agents.of(row) !== null
}

/**
 * The image of a template that a runtime is to be made of. An agent template that nobody has built
 * is built: who asked comes back when it is ready. One that was made by an earlier version of the
 * service is used as it is, and built anew beside that.
 */
export async function imageToUse(service: Service, row: TemplateRow): Promise<string> {
  const pull = { buildId: makeId('build'), noCache: false }
  if (isUnbuilt(service, row)) {
    const { build_id } = await pullAgentTemplate(service, row, pull)
    return requireReady(service, { ...row, state: 'building', build_id })
  }
  if (service.agents.isToBeRenewed(row)) {
    await pullAgentTemplate(service, row, pull).catch((error: unknown) => {
      // What is there works: the next start of the service tries again.
      service.log.warn({ err: error, template: row.name }, 'an agent template could not be built anew')
    })
  }
  return requireReady(service, row)
}
