import { CreateBuild, defaultTemplate, HoltError, makeId } from '@holt/protocol'
import { templateName } from '../foundation/rows/template-name.ts'
import type { BuildRow } from '../foundation/store/build-tables.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { findTemplate, requireReady } from '../resources/templates/find-template.ts'
import type { Builds } from './builds.ts'
import { createBuild } from './create-build.ts'
import { storeFiles } from './store-files.ts'

/** The settings of an agent template's build. */
export interface Pull {
  readonly buildId: string
  /** True if results of earlier builds are not used. */
  readonly noCache: boolean
}

/**
 * Starts the build of an agent template, or returns the equal build that is in progress. All agent
 * templates use the base as their parent, so the base has to be ready.
 */
export async function pullAgentTemplate(service: Builds, row: TemplateRow, pull: Pull): Promise<BuildRow> {
  const agent = service.agents.require(row)
  const { project_id: projectId } = row
  await requireBase(service, projectId)
  const { application } = agent
  const request = CreateBuild.parse({
    name: agent.name,
    tag: row.tag,
    dockerfile: agent.dockerfile,
    cpu: agent.cpu,
    memory: `${agent.memoryMiB}MiB`,
    disk: `${agent.diskMiB}MiB`,
    network_policy: agent.buildNetwork,
    no_cache: pull.noCache,
    context_id: agent.files.length === 0 ? undefined : await storeFiles(service, projectId, agent.files),
    start_cmd: application?.startCmd,
    ready_cmd: application?.readyCmd ?? undefined,
    ready_timeout_secs: application?.readyTimeoutSecs,
  })
  return createBuild(service, {
    projectId,
    buildId: pull.buildId,
    request,
    kind: 'agent',
    recipeDigest: agent.digest,
  })
}

async function requireBase(service: Builds, projectId: string): Promise<void> {
  requireReady(service, await findTemplate(service, { projectId, reference: defaultTemplate }))
}

/** Returns the current image of a template. Unlike `imageToUse`, it starts no build. */
export async function imageAsItIs(service: Builds, row: TemplateRow): Promise<string> {
  if (!isUnbuilt(service, row)) return requireReady(service, row)
  await requireBase(service, row.project_id)
  throw new HoltError('unavailable', `The template ${templateName(row)} is not built yet. A create starts its build.`, {
    hint: `Build it first: holt template pull ${row.name}`,
    details: { template_state: row.state },
  })
}

/** Returns true for an agent template that its first create builds. */
function isUnbuilt({ agents }: Builds, row: TemplateRow): boolean {
  return row.state === 'unbuilt' && agents.of(row) !== null
}

/**
 * Returns the image of a template for a new runtime. An unbuilt agent template is built, and the
 * client tries again when it is ready. If an earlier version of the service made the image, it is
 * used, and a rebuild starts in the background.
 */
export async function imageToUse(service: Builds, row: TemplateRow): Promise<string> {
  const pull = { buildId: makeId('build'), noCache: false }
  if (isUnbuilt(service, row)) {
    const { build_id } = await pullAgentTemplate(service, row, pull)
    return requireReady(service, { ...row, state: 'building', build_id })
  }
  if (service.agents.isToBeRenewed(row)) {
    await pullAgentTemplate(service, row, pull).catch((error: unknown) => {
      // The present image works. The next start of the service tries again.
      service.log.warn({ err: error, template: row.name }, 'an agent template could not be built again')
    })
  }
  return requireReady(service, row)
}
