import { buildUuid, type NewTemplate, parseTag, parseTemplateName } from '@holt/e2b'
import { buildRow } from '../../builds/find-build.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { clientTemplateId } from '../sandbox/client-template-id.ts'
import type { ControlCall } from './control-call.ts'
import { withoutProject } from './find-by-name.ts'
import { RequestedBuilds } from './requested-builds.ts'
import { templateRowOf } from './template-rows-of.ts'
import { uploadAddress } from './upload-address.ts'
import { makeUploadPath } from './upload-grants.ts'
import { findFiles } from './uploaded-files.ts'

/** The size of a template whose request names none. */
const defaults = { cpu: 2, memoryMiB: 1024, diskMiB: 4096 }

/** Requests a build. It starts with a second request, after the upload of its files. */
export async function requestBuild({ service, caller: { projectId }, body, newId }: ControlCall<NewTemplate, unknown>) {
  const requested = await withoutProject(service, projectId, body.name)
  const { name, tag } = parseTemplateName(requested)
  const tags = [...new Set((body.tags ?? []).map(parseTag))].filter((one) => one !== tag)
  const find = {
    isUnready: async (buildId: string) =>
      (await buildRow(service.store.db, { projectId, buildId }))?.status !== 'ready',
    template: async () => (await templateRowOf(service, { projectId, name, tag }))?.template_id,
  }
  const wanted = {
    projectId,
    buildId: newId('build'),
    shownName: requested,
    name,
    tag,
    tags,
    cpu: body.cpuCount ?? defaults.cpu,
    // Some sizes that clients name are odd.
    memoryMiB: Math.ceil((body.memoryMB ?? defaults.memoryMiB) / 2) * 2,
    diskMiB: body.minFreeDiskMb === undefined ? null : defaults.diskMiB + body.minFreeDiskMb,
    requestedAt: service.now(),
    started: null,
    tagged: false,
  }
  const build = await new RequestedBuilds(service).add(wanted, find)
  const plain = requested.replace(/:.*$/, '')
  const json = {
    templateID: clientTemplateId(projectId, name),
    buildID: buildUuid(build.buildId as Parameters<typeof buildUuid>[0]),
    public: false,
    names: [plain],
    tags: [requested.includes(':') ? requested.replace(/^.*:/, '') : 'default', ...(body.tags ?? [])],
    aliases: [plain],
  }
  return { status: 202, json }
}

/** Says if the files of a hash are here, and where to upload them. */
export async function answerFiles(call: ControlCall<unknown, unknown>): Promise<E2bAnswer> {
  const { service, caller, params } = call
  const { projectId } = caller
  const { templateID: templateId = '', hash = '' } = params
  if (!(await new RequestedBuilds(service).hasTemplate(projectId, templateId)))
    throw idNotFound('template_not_found', templateId)
  const present = (await findFiles(service, { projectId, hash })) !== null
  const url = `${uploadAddress(call)}${makeUploadPath(service, caller, hash)}`
  // A client that builds by force uploads files that are here, too.
  return { status: 201, json: { present, url } }
}
