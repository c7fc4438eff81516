import {
  NetworkLogItem,
  NetworkLogQuery,
  RuntimeNetwork,
  SetRuntimeNetwork,
  SuggestedPolicy,
  TestedNetwork,
  TestNetwork,
} from '../network.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

/** The routes of a runtime's network. */
export const networkRoutes = {
  getNetwork: {
    method: 'GET',
    path: `${runtimePath}/network`,
    summary: 'What a runtime may reach',
    scope: 'runtime:read',
    params: runtimeParams,
    body: none,
    answers: { 200: answer(RuntimeNetwork, 'Its policy as it is now.') },
    errors: ['runtime_not_found'],
  },
  setNetwork: {
    method: 'PUT',
    path: `${runtimePath}/network`,
    summary: 'Replace what a running runtime may reach',
    description: 'The policy applies at once. Connections that it does not allow are closed.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(SetRuntimeNetwork),
    answers: { 200: answer(RuntimeNetwork, 'Its policy as it is now.') },
    errors: [...insideErrors, 'policy_not_found', 'conflict', 'precondition_failed', 'unsupported_media_type'],
    takesIfMatch: true,
  },
  testNetwork: {
    method: 'POST',
    path: `${runtimePath}/network/test`,
    summary: 'Whether a connection or a request would be let through, and by which rule',
    scope: 'runtime:read',
    params: runtimeParams,
    body: json(TestNetwork),
    answers: { 200: answer(TestedNetwork, 'The decision. Nothing is sent to the host.') },
    errors: [...insideErrors, 'unsupported_media_type'],
  },
  readNetworkLog: {
    method: 'GET',
    path: `${runtimePath}/network/log`,
    summary: 'What a runtime tried to reach, and what was decided',
    description: 'The newest 10,000 decisions are kept, also after the end of the runtime.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: NetworkLogQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: NetworkLogItem,
        description: 'Items after the cursor. The last one is `end`. A stream without it is incomplete.',
      },
    },
    errors: ['runtime_not_found'],
  },
  suggestNetwork: {
    method: 'GET',
    path: `${runtimePath}/network/suggest`,
    summary: 'The policy that the denied attempts would have needed',
    scope: 'runtime:read',
    params: runtimeParams,
    body: none,
    answers: { 200: answer(SuggestedPolicy, 'A suggestion. Review it before you set it.') },
    errors: ['runtime_not_found'],
  },
} as const satisfies Record<string, Route>
