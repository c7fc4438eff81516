import { dryRunFork } from '../forks/dry-run-fork.ts'
import { forkRuntime } from '../forks/fork-runtime.ts'
import type { Handlers } from '../http/call.ts'
import { answerPage } from '../http/call.ts'
import { pauseReasons, pauseRuntime } from '../lifecycle/pause-runtime.ts'
import { resumeRuntime } from '../lifecycle/resume-runtime.ts'
import { readInTurn } from '../store/read-in-turn.ts'
import { createRuntime } from './create-runtime.ts'
import { dryRunCreate } from './dry-run-create.ts'
import { endRuntime } from './end-runtime.ts'
import { findRuntime } from './find-runtime.ts'
import { listRuntimes } from './list-runtimes.ts'
import { showRuntime } from './present-runtime.ts'
import { updateRuntime } from './update-runtime.ts'

/** The routes of runtimes. */
export const runtimeHandlers = {
  createRuntime: async ({ service, caller, body, newId }) => {
    if (body.dry_run === true) return { status: 200, json: await dryRunCreate(service, caller.projectId, body) }
    const row = await createRuntime(service, {
      projectId: caller.projectId,
      runtimeId: newId('runtime'),
      request: body,
    })
    return { status: 201, json: await showRuntime(service, row) }
  },
  listRuntimes: async ({ service, caller: { projectId }, query, gone, keepAnswer }) => {
    const list = () => listRuntimes(service, { projectId, gone }, { list: query, keepAnswer })
    return answerPage(await readInTurn(service.store, { projectId, gone }, list))
  },
  getRuntime: async ({ service, caller, params }) => {
    const row = await findRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
    return { status: 200, json: await showRuntime(service, row) }
  },
  updateRuntime: async ({ service, caller, params, body }) => {
    const row = await updateRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id }, body)
    return { status: 200, json: await showRuntime(service, row) }
  },
  forkRuntime: async ({ service, caller, params, body, newId }) => {
    const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
    if (body.dry_run === true) return { status: 200, json: await dryRunFork(service, ref, body) }
    return { status: 201, json: await forkRuntime(service, { ...ref, firstId: newId('runtime'), request: body }) }
  },
  pauseRuntime: async ({ service, caller, params }) => {
    const ref = { projectId: caller.projectId, runtimeId: params.runtime_id }
    const row = await pauseRuntime(service, ref, pauseReasons.requested)
    return { status: 200, json: await showRuntime(service, row) }
  },
  resumeRuntime: async ({ service, caller, params }) => {
    const row = await resumeRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
    return { status: 200, json: await showRuntime(service, row) }
  },
  deleteRuntime: async ({ service, caller, params }) => {
    await endRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
    return { status: 204 }
  },
} satisfies Partial<Handlers>
