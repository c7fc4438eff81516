import { KeyedLock, ownText } from '@holt/async'
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
import { buildHome } from '../../builds/build-home.ts'
import { createBuild } from '../../builds/create-build.ts'
import { buildRow } from '../../builds/find-build.ts'
import { imageToUse } from '../../builds/pull-agent-template.ts'
import type { BuildRow } from '../../foundation/store/build-tables.ts'
import type { WantedThing } from '../../foundation/wire/forwarder.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'
import { findByName } from './find-by-name.ts'
import { gatherContext } from './gather-context.ts'
import { parseWith } from './parse-control.ts'
import { builtBy, type RequestedBuild, RequestedBuilds } from './requested-builds.ts'
import { assignTags } from './template-tags.ts'

/** The default base image of clients. Holt uses its own base template instead. */
const clientsBase = /^(?:docker\.io\/)?e2bdev\/base(?::[\w.-]+)?$/

/** The seconds that a start command gets if no command tells when it is ready. */
const usualReady = 'sleep 20'

/** The maximum number of characters of a command line that are kept for the reason of a failure. */
const maxLine = 500

/** Serializes the starts of a build, so that only the first one counts. */
const starts = new KeyedLock()

type Call = ControlCall<StartBuild, unknown>

/** Starts a requested build: translates its steps, and hands them to Holt's builder. */
export function startBuild(call: Call): Promise<E2bAnswer> {
  const { buildId } = idsOf(call.params)
  return starts.run(buildId, () => startOnce(call, buildId))
}

/** Returns the build that a start makes, by which its host is chosen. */
export async function wantedBuild({ service, caller: { projectId }, params }: Call): Promise<WantedThing> {
  const requested = await new RequestedBuilds(service).get(projectId, idsOf(params))
  return { type: 'build', homeKey: buildHome(projectId, requested.name) }
}

function idsOf({ templateID = '', buildID = '' }: Call['params']) {
  return { clientId: templateID, buildId: buildIdOf(buildID) ?? buildID }
}

async function startOnce(call: Call, buildId: string): Promise<E2bAnswer> {
  const { service, caller, params, body } = call
  const { projectId } = caller
  const requests = new RequestedBuilds(service)
  const requested = await requests.get(projectId, idsOf(params))
  // A service that was killed may have written the start and made no build.
  if (requested.started !== null && (await startedRow(service, requested)) !== undefined)
    throw new E2bError(409, 'This build was started already')
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
  const started = { at: service.now(), buildId, origins: [...translated.origins], lines: steps.map(lineOf) }
  // First, so that the status of a build that has begun always knows its steps.
  await requests.write({ ...requested, started })
  try {
    const row = await createBuild(service, {
      projectId,
      buildId,
      templateId: requested.templateId,
      request,
      kind: 'custom',
    })
    const begun = { ...requested, started: { ...started, buildId: row.build_id } }
    if (row.build_id !== buildId) await requests.write(begun)
    void followTags(call, begun)
  } catch (error) {
    await requests.write({ ...requested, started: null })
    throw error
  }
  return { status: 202 }
}

/** Returns the build that a start has made, or undefined if there is none. */
export async function startedRow(
  { store }: Call['service'],
  { projectId, started }: RequestedBuild,
): Promise<BuildRow | undefined> {
  return started === null ? undefined : buildRow(store.db, { projectId, buildId: started.buildId })
}

/** Assigns the further tags as soon as the build has ended. */
async function followTags({ service }: Call, requested: RequestedBuild): Promise<void> {
  const build_id = builtBy(requested)
  try {
    await service.builds.get(build_id)?.ended
    await assignRequested(service, requested)
  } catch (error) {
    // The next look at the status assigns them.
    service.log.warn({ err: error, build_id }, 'the tags of a build could not be assigned yet')
  }
}

/** Assigns the further tags of a build that is ready. It may be called again. */
export async function assignRequested(service: Call['service'], requested: RequestedBuild): Promise<void> {
  if (requested.tagged) return
  const { projectId, name, tag, tags } = requested
  const of = { projectId, name, tag, tags, buildId: builtBy(requested) }
  if (tags.length > 0 && !(await assignTags(service, of))) return
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
  // The first build on an agent template starts that template's own build, as a create does.
  if (kind === 'agent') await imageToUse(service, found.template)
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
  // The line end closes a comment at the end of the command.
  const line = `for try in $(seq 300); do (${readyCmd}\n) && exit 0; sleep 2; done; exit 1`
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

/** Returns the line of a step as its client wrote it, as far as it is kept. */
function lineOf({ type, args = [] }: TemplateStep): string {
  const line = type === 'RUN' ? (args[0] ?? '') : `${type} ${args.join(' ')}`.trim()
  return line.length > maxLine ? ownText(`${line.slice(0, maxLine)}...`) : line
}
