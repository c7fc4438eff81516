import { z } from 'zod'
import { DrainHost, Host, HostDrain, LoseHost } from '../host.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/host'
const params = z.strictObject({ host_id: z.string().describe('The id of the host.') })
const done = { 204: { type: 'none', description: 'Done.' } } as const

/** The routes of the machines that run runtimes. */
export const hostRoutes = {
  listHosts: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List the hosts, with their capacity, pools and checks',
    description:
      'An installation has one host, or those of its fleet. The checks are those of `holt doctor` that start nothing, and are made at most once a minute. The facts about other hosts are at most a minute old.',
    scope: 'operator',
    body: none,
    answers: { 200: answer(pageOf(Host).meta({ id: 'HostPage' }), 'The hosts.') },
    errors: [],
  },
  cordonHost: {
    method: 'POST',
    path: `${path}/{host_id}/cordon`,
    runsOn: 'entry',
    summary: 'Cordon a host of a fleet',
    description: 'The host gets no new runtimes. It keeps those that it has, and answers requests.',
    scope: 'operator',
    params,
    body: none,
    answers: done,
    errors: ['host_not_found', 'conflict'],
  },
  uncordonHost: {
    method: 'POST',
    path: `${path}/{host_id}/uncordon`,
    runsOn: 'entry',
    summary: 'Let a host of a fleet get new runtimes again',
    scope: 'operator',
    params,
    body: none,
    answers: done,
    errors: ['host_not_found', 'conflict'],
  },
  drainHost: {
    method: 'POST',
    path: `${path}/{host_id}/drain`,
    runsOn: 'entry',
    summary: 'Empty a host of a fleet',
    description:
      'The host gets no new runtimes. Its runtimes are paused, stored, and resumed on other hosts under the same ids; those in use at once. Runtimes that cannot move end at their deadline, or at that of the request. The host is `cordoned` when it is empty.',
    scope: 'operator',
    params,
    body: json(DrainHost),
    answers: { 200: answer(HostDrain, 'The runtimes of the host, and what becomes of them.') },
    hasDryRun: true,
    errors: ['host_not_found', 'conflict', 'unsupported_media_type'],
  },
  loseHost: {
    method: 'POST',
    path: `${path}/{host_id}/lost`,
    runsOn: 'entry',
    summary: 'Declare a host of a fleet lost',
    description:
      'For a machine whose power is off. Its running runtimes fail within seconds, and not after minutes. The request is refused for a host that was heard of, unless `force` is true.',
    scope: 'operator',
    params,
    body: json(LoseHost),
    answers: done,
    errors: ['host_not_found', 'conflict', 'unsupported_media_type'],
  },
  forgetHost: {
    method: 'POST',
    path: `${path}/{host_id}/forget`,
    runsOn: 'entry',
    summary: 'Forget a lost host of a fleet',
    description:
      'For a machine whose disk does not come back. Its paused runtimes fail, and so do snapshots that are there alone. The host can never join again under this id.',
    scope: 'operator',
    params,
    body: none,
    answers: done,
    errors: ['host_not_found', 'conflict'],
  },
} as const satisfies Record<string, Route>
