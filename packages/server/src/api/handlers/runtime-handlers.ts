import { imageAsItIs, imageToUse } from '../../builds/pull-agent-template.ts'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import { readOneByOne } from '../../foundation/store/read-one-by-one.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { answerPage } from '../../foundation/wire/call.ts'
import { createRuntime } from '../../runtimes/create/create-runtime.ts'
import { dryRunCreate } from '../../runtimes/create/dry-run-create.ts'
import { dryRunFork } from '../../runtimes/forks/dry-run-fork.ts'
import { forkRuntime } from '../../runtimes/forks/fork-runtime.ts'
import { pauseReasons, pauseRuntime } from '../../runtimes/lifecycle/pause-runtime.ts'
import { resumeRuntime } from '../../runtimes/lifecycle/resume-runtime.ts'
import { updateRuntime } from '../../runtimes/settings/update-runtime.ts'
import { endRuntime } from '../../runtimes/state/end-runtime.ts'
import { listRuntimes } from '../../runtimes/state/list-runtimes.ts'
import { showRuntime } from '../../runtimes/state/present-runtime.ts'
import type { Handlers } from '../api.ts'

/** The routes of runtimes. */
export const runtimeHandlers = {
  createRuntime: async ({ service, caller, body, newId }) => {
    if (body.dry_run === true) {
      const imageOf = (template: TemplateRow) => imageAsItIs(service, template)
      return { status: 200, json: await dryRunCreate(service, caller.projectId, { request: body, imageOf }) }
    }
    const row = await createRuntime(service, {
      projectId: caller.projectId,
      runtimeId: newId('runtime'),
      request: body,
      imageOf: (template) => imageToUse(service, template),
    })
    return { status: 201, json: await showRuntime(service, row) }
  },
  listRuntimes: async ({ service, caller: { projectId }, query, gone, keepAnswer }) => {
    const list = () => listRuntimes(service, { projectId, gone }, { list: query, keepAnswer })
    return answerPage(await readOneByOne(service, { projectId, gone }, list))
  },
  getRuntime: async ({ service, ref }) => {
    const row = await findRuntime(service, ref)
    return { status: 200, json: await showRuntime(service, row) }
  },
  updateRuntime: async ({ service, body, ref }) => {
    const row = await updateRuntime(service, ref, body)
    return { status: 200, json: await showRuntime(service, row) }
  },
  forkRuntime: async ({ service, body, newId, ref }) => {
    if (body.dry_run === true) return { status: 200, json: await dryRunFork(service, ref, body) }
    return { status: 201, json: await forkRuntime(service, { ...ref, firstId: newId('runtime'), request: body }) }
  },
  pauseRuntime: async ({ service, ref }) => {
    const row = await pauseRuntime(service, ref, pauseReasons.requested)
    return { status: 200, json: await showRuntime(service, row) }
  },
  resumeRuntime: async ({ service, ref }) => {
    const row = await resumeRuntime(service, ref)
    return { status: 200, json: await showRuntime(service, row) }
  },
  deleteRuntime: async ({ service, ref }) => {
    await endRuntime(service, ref)
    return { status: 204 }
  },
} satisfies Partial<Handlers>
