import {
  buildIdOf,
  E2bError,
  firstPlace,
  inLoginShell,
  type StartBuild,
  type StepPlace,
  type TemplateStep,
  translateSteps,
} from '@holt/e2b'
import { CreateBuild } from '@holt/protocol'
import { createBuild } from '../../builds/create-build.ts'
import type { BuildRow } from '../../foundation/store/build-tables.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'
import { findByName } from './find-by-name.ts'
import { gatherContext } from './gather-context.ts'
import { parseWith } from './parse-control.ts'
import { type RequestedBuild, RequestedBuilds } from './requested-builds.ts'
import { assignTags } from './template-tags.ts'

/** The image that clients name by default. It stands for Holt's base template. */
const clientsBase = /^(?:docker\.io\/)?e2bdev\/base(?::[\w.-]+)?$/

/** The seconds that a start command gets if no command tells when it is ready. */
const usualReady = 'sleep 20'

type Call = ControlCall<StartBuild, unknown>

/** Starts a requested build: translates its steps, and hands them to Holt's builder. */
export async function startBuild(call: Call): Promise<E2bAnswer> {
  const { service, caller, params, body } = call
  const { projectId } = caller
  const requests = new RequestedBuilds(service)
  const buildId = buildIdOf(params.buildID ?? '') ?? params.buildID ?? ''
  const requested = await requests.get(projectId, { templateId: params.templateID ?? '', buildId })
  if (requested.started !== null) throw new E2bError(409, 'This build was started already')
  const base = await findBase(call)
  const steps = [...(body.steps ?? []), ...waitStep(body)]
  const translated = translateSteps(steps, base)
  const context_id = await gatherContext(service, { projectId, hashes: translated.hashes, gone: call.gone })
  const request = parseWith(CreateBuild, {
    ...base.source,
    ...commandsOf(body),
    ...loginOf(body),
    name: requested.name,
    tag: requested.tag,
    cpu: requested.cpu,
    memory: `${requested.memoryMiB}MiB`,
    ...(requested.diskMiB === null ? {} : { disk: `${requested.diskMiB}MiB` }),
    steps: translated.steps,
    ...(context_id === null ? {} : { context_id }),
    no_cache: body.force === true || steps.some(({ force }) => force === true),
  }) as CreateBuild
  const started = { at: service.now(), origins: [...translated.origins], lines: steps.map(lineOf) }
  // First, so that the status of a build that has begun always knows its steps.
  await requests.write({ ...requested, started })
  const ref = { projectId, buildId: requested.buildId, templateId: requested.templateId }
  try {
    const row = await createBuild(service, { ...ref, request, kind: 'custom' })
    void followTags(call, { ...requested, started }, row)
  } catch (error) {
    await requests.write(requested)
    throw error
  }
  return { status: 202 }
}

/** Assigns the further tags as soon as the build has ended. */
async function followTags({ service }: Call, requested: RequestedBuild, row: BuildRow): Promise<void> {
  try {
    await service.builds.get(row.build_id)?.ended
    await assignRequested(service, requested)
  } catch (error) {
    // The next look at the status assigns them.
    service.log.warn({ err: error, build_id: row.build_id }, 'the tags of a build could not be assigned yet')
  }
}

/** Assigns the further tags of a build that is ready. It may be called again. */
export async function assignRequested(service: Call['service'], requested: RequestedBuild): Promise<void> {
  if (requested.tagged) return
  const { projectId, name, tag, tags } = requested
  if (tags.length > 0 && !(await assignTags(service, { projectId, name, tag, tags, buildId: requested.buildId })))
    return
  await new RequestedBuilds(service).write({ ...requested, tagged: true })
}

interface Base {
  readonly source: { readonly from_image: string } | { readonly from_template: string }
  readonly provision: boolean
  readonly place: StepPlace
}

async function findBase({ service, caller: { projectId }, body }: Call): Promise<Base> {
  const { fromImage, fromTemplate } = body
  if ((fromImage === undefined) === (fromTemplate === undefined))
    throw new E2bError(400, 'give exactly one of fromImage and fromTemplate')
  if (fromImage !== undefined && !clientsBase.test(fromImage))
    return { source: { from_image: fromImage }, provision: true, place: firstPlace }
  const reference = fromTemplate ?? e2bConfig(service).base
  const found = await findByName(service, projectId, reference)
  if (!('template' in found)) throw new E2bError(400, `fromTemplate: '${reference}' is a snapshot, not a template`)
  const { template_id, kind, user, workdir } = found.template
  const isOwn = kind === 'custom'
  const source = { from_template: template_id }
  return { source, provision: !isOwn, place: isOwn ? { user: user || 'root', workdir } : firstPlace }
}

function commandsOf({ startCmd, readyCmd }: StartBuild): { start_cmd?: string; ready_cmd?: string } {
  if (isEmpty(startCmd)) return {}
  return {
    start_cmd: inLoginShell(startCmd),
    ready_cmd: inLoginShell(isEmpty(readyCmd) ? usualReady : readyCmd),
  }
}

/** Returns the step that waits for a template that is ready without a start command. */
function waitStep({ startCmd, readyCmd }: StartBuild): readonly TemplateStep[] {
  if (!isEmpty(startCmd) || isEmpty(readyCmd)) return []
  const line = `for try in $(seq 300); do (${readyCmd}) && exit 0; sleep 2; done; exit 1`
  return [{ type: 'RUN', args: [line], filesHash: undefined, force: undefined }]
}

function isEmpty(text: string | undefined): text is undefined | '' {
  return text === undefined || text.trim() === ''
}

function loginOf({ fromImageRegistry: login }: StartBuild) {
  if (login === undefined) return {}
  if (login.type === 'aws')
    throw new E2bError(400, 'fromImageRegistry: logins of AWS are not supported. Give a user name and a password')
  const { username, password } =
    login.type === 'gcp' ? { username: '_json_key', password: login.serviceAccountJson } : login
  return { registry_auth: { username, password } }
}

/** Returns the line of a step as its client wrote it. */
function lineOf({ type, args = [] }: TemplateStep): string {
  return type === 'RUN' ? (args[0] ?? '') : `${type} ${args.join(' ')}`.trim()
}
