import { Host } from '../host.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, none } from './parts.ts'

/** The route of the machines that run runtimes. */
export const hostRoutes = {
  listHosts: {
    method: 'GET',
    path: '/v1/agents/host',
    runsOn: 'entry',
    summary: 'List the hosts, with their capacity, pools and checks',
    description:
      'An installation has one host. Its checks are those of `holt doctor` that start nothing, and are made at most once a minute.',
    scope: 'operator',
    body: none,
    answers: { 200: answer(pageOf(Host).meta({ id: 'HostPage' }), 'The hosts.') },
    errors: [],
  },
} as const satisfies Record<string, Route>
