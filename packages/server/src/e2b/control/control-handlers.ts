import {
  AssignTags,
  BuildLogsQuery,
  ConnectSandbox,
  type ControlRouteName,
  ForkSandbox,
  ListSandboxes,
  ListSandboxesV1,
  ListSnapshots,
  ListTemplates,
  LogsQuery,
  MetricsOfQuery,
  MetricsQuery,
  NetworkUpdate,
  NewSandbox,
  NewSnapshot,
  NewTemplate,
  PauseSandbox,
  Refresh,
  RemoveTags,
  SetTimeout,
  StartBuild,
  StatusQuery,
  UpdateTemplate,
} from '@holt/e2b'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'
import { sandboxDetail } from '../sandbox/present-sandbox.ts'
import { changeNetwork } from './change-network.ts'
import { type ControlRoute, route } from './control-call.ts'
import { createSandbox, wantedRuntime } from './create-sandbox.ts'
import { findLive } from './find-live.ts'
import { forkSandbox } from './fork-sandbox.ts'
import { listRunning, listSandboxes } from './list-sandboxes.ts'
import { listTeams } from './list-teams.ts'
import { deleteNamed, findAlias } from './named-templates.ts'
import { answerFiles, requestBuild } from './request-build.ts'
import {
  connectSandbox,
  killSandbox,
  pauseSandbox,
  refreshSandbox,
  resumeSandbox,
  setSandboxTimeout,
} from './sandbox-life.ts'
import { sandboxLines, sandboxLogs } from './sandbox-logs.ts'
import { metricsOfSandboxes, sandboxMetrics } from './sandbox-metrics.ts'
import { listReadySnapshots, snapshotSandbox } from './sandbox-snapshots.ts'
import { startBuild, wantedBuild } from './start-build.ts'
import { answerBuildLogs, answerBuildStatus } from './template-build-status.ts'
import { answerTemplate, listAllTemplates, listTemplatesPage, publishTemplate } from './template-lists.ts'
import { addTags, listTags, removeTags } from './template-tags.ts'

const usualTimeout = ({ defaultTimeoutSecs }: E2bConfig) => defaultTimeoutSecs

/** The life on the paths without a version, in seconds, if the request names none. */
const timeoutV1 = () => 15

/** The routes of the control plane. One without a handler is a type error here. */
export const controlHandlers: Readonly<Record<Exclude<ControlRouteName, 'health'>, ControlRoute>> = {
  listTeams: route({ scope: 'runtime:read', handle: listTeams }),
  createSandbox: route({
    scope: 'runtime:write',
    body: NewSandbox,
    handle: (call) => createSandbox(call, usualTimeout),
    makes: async (call) => ({ type: 'runtime', create: await wantedRuntime(call, usualTimeout) }),
  }),
  createSandboxV1: route({
    scope: 'runtime:write',
    body: NewSandbox,
    handle: (call) => createSandbox(call, timeoutV1),
    makes: async (call) => ({ type: 'runtime', create: await wantedRuntime(call, timeoutV1) }),
  }),
  listSandboxes: route({ scope: 'runtime:read', query: ListSandboxes, handle: listSandboxes }),
  listSandboxesV1: route({ scope: 'runtime:read', query: ListSandboxesV1, handle: listRunning }),
  listMetrics: route({ scope: 'runtime:read', query: MetricsOfQuery, handle: metricsOfSandboxes }),
  getSandbox: route({
    scope: 'runtime:read',
    handle: async ({ service, caller, ref }) => ({
      status: 200,
      json: await sandboxDetail(service, await findLive(service, ref), caller),
    }),
  }),
  killSandbox: route({ scope: 'runtime:write', handle: killSandbox }),
  connectSandbox: route({
    scope: 'runtime:write',
    body: ConnectSandbox,
    handle: (call) => connectSandbox(call, usualTimeout),
    wakes: true,
  }),
  connectSandboxV1: route({
    scope: 'runtime:write',
    body: ConnectSandbox,
    handle: (call) => connectSandbox(call, timeoutV1),
    wakes: true,
  }),
  resumeSandbox: route({ scope: 'runtime:write', body: ConnectSandbox, handle: resumeSandbox, wakes: true }),
  pauseSandbox: route({ scope: 'runtime:write', body: PauseSandbox, handle: pauseSandbox }),
  setTimeout: route({ scope: 'runtime:write', body: SetTimeout, handle: setSandboxTimeout }),
  refreshSandbox: route({ scope: 'runtime:write', body: Refresh, handle: refreshSandbox }),
  getMetrics: route({ scope: 'runtime:read', query: MetricsQuery, handle: sandboxMetrics }),
  getLogsV1: route({ scope: 'runtime:read', query: LogsQuery, handle: sandboxLines }),
  getLogs: route({ scope: 'runtime:read', query: LogsQuery, handle: sandboxLogs }),
  setNetwork: route({ scope: 'runtime:write', body: NetworkUpdate, handle: changeNetwork }),
  createSnapshot: route({ scope: 'runtime:write', body: NewSnapshot, handle: snapshotSandbox }),
  forkSandbox: route({ scope: 'runtime:write', body: ForkSandbox, handle: forkSandbox }),
  listSnapshots: route({ scope: 'runtime:read', query: ListSnapshots, handle: listReadySnapshots }),
  requestBuild: route({ scope: 'template:write', body: NewTemplate, handle: requestBuild }),
  findFiles: route({ scope: 'template:write', handle: answerFiles }),
  startBuild: route({ scope: 'template:write', body: StartBuild, handle: startBuild, makes: wantedBuild }),
  buildStatus: route({ scope: 'template:read', query: StatusQuery, handle: answerBuildStatus }),
  buildLogs: route({ scope: 'template:read', query: BuildLogsQuery, handle: answerBuildLogs }),
  listTemplates: route({ scope: 'template:read', handle: listAllTemplates }),
  listTemplatesV2: route({ scope: 'template:read', query: ListTemplates, handle: listTemplatesPage }),
  getTemplate: route({ scope: 'template:read', handle: answerTemplate }),
  updateTemplate: route({ scope: 'template:write', body: UpdateTemplate, handle: publishTemplate }),
  assignTags: route({ scope: 'template:write', body: AssignTags, handle: addTags }),
  removeTags: route({ scope: 'template:write', body: RemoveTags, handle: removeTags }),
  listTags: route({ scope: 'template:read', handle: listTags }),
  findAlias: route({ scope: 'template:read', handle: findAlias }),
  deleteTemplate: route({ scope: 'any', handle: deleteNamed }),
}
