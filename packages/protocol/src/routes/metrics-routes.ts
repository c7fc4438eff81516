import { ListMetricsQuery, RuntimeMetrics, RuntimeMetricsQuery } from '../metrics.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, none, runtimeParams, runtimePath } from './parts.ts'

/** The routes of the usage of runtimes and the counters of the service. */
export const metricsRoutes = {
  runtimeMetrics: {
    method: 'GET',
    path: `${runtimePath}/metrics`,
    runsOn: 'owner',
    whilePaused: 'answer',
    summary: 'What a runtime takes',
    description:
      'CPU, memory, disk, processes and network, now and for an earlier period. The service measures from outside the runtime, so a request neither wakes it nor counts as use.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: RuntimeMetricsQuery,
    body: none,
    answers: { 200: answer(RuntimeMetrics, 'The use of resources.') },
    errors: ['runtime_not_found', 'runtime_terminated', 'runtime_not_running', 'not_supported_here'],
  },
  listRuntimeMetrics: {
    method: 'GET',
    path: '/v1/agents/metrics',
    runsOn: 'entry',
    summary: 'What many runtimes take',
    description:
      'Answers the metrics of all running runtimes, or of those with the given ids, newest first. A runtime that has ended has no values. A page is shorter than `limit` if its samples are many.',
    scope: 'runtime:read',
    query: ListMetricsQuery,
    body: none,
    answers: { 200: answer(pageOf(RuntimeMetrics).meta({ id: 'RuntimeMetricsPage' }), 'A page of metrics.') },
    errors: ['not_supported_here'],
  },
  metrics: {
    method: 'GET',
    path: '/metrics',
    runsOn: 'entry',
    summary: 'Metrics for Prometheus',
    scope: 'operator',
    body: none,
    answers: { 200: { type: 'bytes', description: 'The text format 0.0.4 of Prometheus.' } },
    errors: [],
  },
} as const satisfies Record<string, Route>
