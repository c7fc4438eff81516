import {
  type BuildLogEntry,
  type BuildLogsQuery,
  type BuildReason,
  buildIdOf,
  buildReason,
  buildUuid,
  type StatusQuery,
  templateStatus,
} from '@holt/e2b'
import type { Id } from '@holt/protocol'
import type { LoggedLine } from '../../builds/build-log.ts'
import type { FailureReason } from '../../builds/failure-reason.ts'
import type { BuildRef } from '../../builds/find-build.ts'
import type { BuildRow } from '../../foundation/store/build-tables.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { clientTemplateId } from '../sandbox/client-template-id.ts'
import { linesAfter, linesFrom } from './build-log-lines.ts'
import type { ControlCall } from './control-call.ts'
import { builtBy, type RequestedBuild, RequestedBuilds } from './requested-builds.ts'
import { assignRequested, startedRow } from './start-build.ts'

type Call = ControlCall<unknown, StatusQuery>

/** The time within which a start makes Holt's own build, in milliseconds. */
const startMs = 60_000

/** Answers how far a build is, with the lines of its log after an offset. */
export async function answerBuildStatus(call: Call): Promise<E2bAnswer> {
  const { service, query } = call
  const { requested, row } = await findRequested(call)
  const templateID = clientTemplateId(requested.projectId, requested.name)
  const ids = { templateID, buildID: buildUuid(requested.buildId as Id<'build'>) }
  if (row === undefined)
    return { status: 200, json: { ...ids, logs: [], logEntries: [], ...withoutRow(call, requested) } }
  const status = templateStatus(row.status)
  // A client that has seen `ready` creates by every tag at once.
  if (status === 'ready') await assignRequested(service, requested)
  const reason = row.reason_json === null ? null : reasonOf(row, requested)
  const json = {
    ...ids,
    status,
    logs: [],
    logEntries: await entriesOf(call, { requested, row }, (of) => linesAfter(service, of, query)),
    ...(status === 'error' ? { reason: reason ?? { message: 'The build was cancelled.', step: 'finalize' } } : {}),
  }
  return { status: 200, json }
}

/** Returns the state of a build that Holt does not know, or does not know any more. */
function withoutRow({ service }: Call, { started }: RequestedBuild) {
  if (started === null || service.now() < started.at + startMs) return { status: 'waiting' }
  const message = 'The service stopped before this build began. Build again.'
  return { status: 'error', reason: { message, step: 'base' } satisfies BuildReason }
}

/** Answers lines of a build's log, from a moment on or before it. */
export async function answerBuildLogs(call: ControlCall<unknown, BuildLogsQuery>): Promise<E2bAnswer> {
  const { requested, row } = await findRequested(call)
  const logs =
    row === undefined ? [] : await entriesOf(call, { requested, row }, (of) => linesFrom(call.service, of, call.query))
  return { status: 200, json: { logs } }
}

interface Found {
  readonly requested: RequestedBuild
  readonly row: BuildRow | undefined
}

async function findRequested({
  service,
  caller: { projectId },
  params,
}: ControlCall<unknown, unknown>): Promise<Found> {
  const buildId = buildIdOf(params.buildID ?? '') ?? params.buildID ?? ''
  const ref = { clientId: params.templateID ?? '', buildId }
  const requested = await new RequestedBuilds(service).get(projectId, ref)
  await service.builds.get(builtBy(requested))?.reporter.flush()
  return { requested, row: await startedRow(service, requested) }
}

/** Returns lines of a build's log, each with the step of its client. */
async function entriesOf(
  { service }: ControlCall<unknown, unknown>,
  {
    requested,
    row: { build_id: buildId, project_id: projectId, steps_json },
  }: Pick<Found, 'requested'> & { row: BuildRow },
  read: (of: BuildRef) => Promise<readonly LoggedLine[]>,
): Promise<readonly BuildLogEntry[]> {
  await service.builds.logs.flush()
  const lines = await read({ projectId, buildId })
  const steps = JSON.parse(steps_json) as readonly { line: number | null }[]
  return lines.map(({ at, level, message, step }) => {
    const line = step === null ? null : (steps[step - 1]?.line ?? null)
    const origin = line === null ? undefined : requested.started?.origins[line - 1]
    return { timestamp: at, level, message, ...(origin === undefined ? {} : { step: String(origin) }) }
  })
}

function reasonOf({ reason_json, steps_json }: BuildRow, { started }: RequestedBuild): BuildReason {
  const { code, message, step, details } = JSON.parse(reason_json ?? '{}') as FailureReason
  const steps = JSON.parse(steps_json) as readonly { line: number | null }[]
  const line = step === null ? null : (steps[step - 1]?.line ?? null)
  // The first step of Holt is the base itself.
  const failure = { code, message, line: step === 1 ? null : line, details }
  if (step === 1) return { step: 'base', message }
  return buildReason(failure, started?.origins ?? [], started?.lines ?? [])
}
