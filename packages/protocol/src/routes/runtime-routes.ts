import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { CreateRuntime, ListRuntimesQuery, Runtime, UpdateRuntime } from '../runtime.ts'
import { answer, json, none, runtimeParams, runtimePath } from './parts.ts'

/** Runtimes. */
export const runtimeRoutes = {
  createRuntime: {
    method: 'POST',
    path: '/v1/agents/runtime',
    summary: 'Create a runtime',
    scope: 'runtime:write',
    body: json(CreateRuntime),
    answers: { 201: answer(Runtime, 'The runtime runs.') },
    errors: [
      'template_not_found',
      'policy_not_found',
      'secret_not_found',
      'name_taken',
      'unsupported_setting',
      'disk_too_small',
      'start_cmd_failed',
      'ready_cmd_failed',
      'ready_timeout',
      'on_restore_failed',
      'not_supported_here',
      'capacity_exhausted',
      'disk_full',
      'unsupported_media_type',
      'timeout',
    ],
  },
  listRuntimes: {
    method: 'GET',
    path: '/v1/agents/runtime',
    summary: 'List runtimes',
    description: 'Newest first. `metadata.KEY=VALUE` filters by metadata; several mean AND.',
    scope: 'runtime:read',
    query: ListRuntimesQuery,
    body: none,
    answers: { 200: answer(pageOf(Runtime).meta({ id: 'RuntimePage' }), 'A page of runtimes.') },
    errors: [],
  },
  getRuntime: {
    method: 'GET',
    path: runtimePath,
    summary: 'Get a runtime',
    scope: 'runtime:read',
    params: runtimeParams,
    body: none,
    answers: { 200: answer(Runtime, 'The runtime. Ended ones can be read for 7 days.') },
    errors: ['runtime_not_found'],
  },
  updateRuntime: {
    method: 'PATCH',
    path: runtimePath,
    summary: "Change a runtime's metadata or deadline",
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(UpdateRuntime),
    answers: { 200: answer(Runtime, 'The runtime as it is now.') },
    errors: ['runtime_not_found', 'runtime_terminated', 'runtime_not_running', 'unsupported_media_type'],
  },
  deleteRuntime: {
    method: 'DELETE',
    path: runtimePath,
    summary: 'Terminate a runtime',
    scope: 'runtime:write',
    params: runtimeParams,
    body: none,
    answers: { 204: { type: 'none', description: 'It is gone; saying it again is the same.' } },
    errors: ['runtime_not_found'],
  },
} as const satisfies Record<string, Route>
