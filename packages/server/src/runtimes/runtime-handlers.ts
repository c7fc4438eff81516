import type { Handlers } from '../http/call.ts'
import { answerPage } from '../http/call.ts'
import { createRuntime } from './create-runtime.ts'
import { endRuntime } from './end-runtime.ts'
import { findRuntime } from './find-runtime.ts'
import { listRuntimes } from './list-runtimes.ts'
import { presentRuntime } from './present-runtime.ts'
import { updateRuntime } from './update-runtime.ts'

/** The routes of runtimes. */
export const runtimeHandlers = {
  createRuntime: async ({ service, caller, body, newId }) => {
    const row = await createRuntime(service, {
      projectId: caller.projectId,
      runtimeId: newId('runtime'),
      request: body,
    })
    return { status: 201, json: presentRuntime(row, service.config) }
  },
  listRuntimes: async ({ service, caller, query }) => answerPage(await listRuntimes(service, caller.projectId, query)),
  getRuntime: async ({ service, caller, params }) => {
    const row = await findRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
    return { status: 200, json: presentRuntime(row, service.config) }
  },
  updateRuntime: async ({ service, caller, params, body }) => {
    const row = await updateRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id }, body)
    return { status: 200, json: presentRuntime(row, service.config) }
  },
  deleteRuntime: async ({ service, caller, params }) => {
    await endRuntime(service, { projectId: caller.projectId, runtimeId: params.runtime_id })
    return { status: 204 }
  },
} satisfies Partial<Handlers>
