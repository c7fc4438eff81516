import { isSet } from '@holt/protocol'
import { buildLogItems } from '../../builds/build-log-items.ts'
import { checkDockerfile } from '../../builds/check-dockerfile.ts'
import { createBuild } from '../../builds/create-build.ts'
import { type BuildRef, findBuild } from '../../builds/find-build.ts'
import { readRequest } from '../../builds/kept-request.ts'
import { listBuilds } from '../../builds/list-builds.ts'
import { presentBuild, presentStarted } from '../../builds/present-build.ts'
import { pullAgentTemplate } from '../../builds/pull-agent-template.ts'
import { presentContext, storeContext } from '../../builds/store-context.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { answerPage } from '../../foundation/wire/call.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import { requireWriter } from '../../tenancy/projects/require-writer.ts'
import type { Api, Handlers } from '../api.ts'

/** The routes of builds. */
export const buildHandlers = {
  createBuild: async ({ service, caller, body, newId }) => {
    const ref = { projectId: caller.projectId, buildId: newId('build') }
    const row = await createBuild(service, { ...ref, request: body, kind: 'custom' })
    return { status: 202, json: presentStarted(row) }
  },
  listBuilds: async ({ service, caller: { projectId }, query, gone }) =>
    answerPage(await readOneByOne(service, { projectId, gone }, () => listBuilds(service, projectId, query))),
  getBuild: async ({ service, caller, params }) => show(service, refOf(caller.projectId, params)),
  getBuildRequest: async ({ service, caller, params }) => {
    const { build_id } = await findBuild(service.store.db, refOf(caller.projectId, params))
    return { status: 200, json: await readRequest(service.store.db, build_id) }
  },
  cancelBuild: async ({ service, caller, params }) => {
    const ref = refOf(caller.projectId, params)
    const { project_id } = await findBuild(service.store.db, ref)
    requireWriter(caller, project_id)
    const build = service.builds.get(ref.buildId)
    if (build !== null) await service.builds.stop(build, 'cancelled')
    return show(service, ref)
  },
  readBuildLogs,
  checkDockerfile: async ({ service, caller, body, gone }) => ({
    status: 200,
    json: await checkDockerfile(service, body, { projectId: caller.projectId, signal: gone }),
  }),
  uploadContext: async ({ service, caller, body, newId, gone }) => {
    const contextId = newId('context')
    const row = await storeContext(service, { projectId: caller.projectId, contextId, body, gone })
    return { status: 201, json: presentContext(row) }
  },
  pullTemplate: async ({ service, caller, params, body, newId }) => {
    const row = await findTemplate(service, { projectId: caller.projectId, reference: params.template_id })
    const build = await pullAgentTemplate(service, row, { buildId: newId('build'), noCache: body.no_cache })
    return { status: 202, json: presentStarted(build) }
  },
} satisfies Partial<Handlers>

async function readBuildLogs({ service, caller, params, query, gone }: Call<'readBuildLogs', Api>): Promise<Answer> {
  const { project_id: projectId, build_id: buildId } = await findBuild(
    service.store.db,
    refOf(caller.projectId, params),
  )
  await service.builds.logs.flush()
  return {
    status: 200,
    items: buildLogItems(service, { projectId, buildId }, { cursor: query.cursor, follow: isSet(query.follow), gone }),
  }
}

/** Returns the present state of a build, after its pending changes are written. */
async function show(service: Api, ref: BuildRef): Promise<Answer> {
  await service.builds.get(ref.buildId)?.reporter.flush()
  return { status: 200, json: presentBuild(await findBuild(service.store.db, ref)) }
}

function refOf(projectId: string, params: { readonly build_id: string }): BuildRef {
  return { projectId, buildId: params.build_id }
}
