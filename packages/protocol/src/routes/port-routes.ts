import { z } from 'zod'
import { Port, PortNumber, PortQuery, PortState, UpdatePort } from '../port.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

const portParams = runtimeParams.extend({ port: PortNumber.describe('The port inside the runtime, 1 to 65535.') })

/**
 * The routes of a runtime's ports. Traffic to a port has no route here; it goes to `url` and
 * `path_url`.
 */
export const portRoutes = {
  listPorts: {
    method: 'GET',
    path: `${runtimePath}/ports`,
    runsOn: 'owner',
    summary: 'List the ports that something listens on, and those that are public',
    scope: 'runtime:read',
    params: runtimeParams,
    body: none,
    answers: {
      200: answer(
        z.object({ data: z.array(PortState).describe('The ports, in ascending order.') }).meta({ id: 'PortList' }),
        'The ports, in order.',
      ),
    },
    errors: insideErrors,
  },
  getPort: {
    method: 'GET',
    path: `${runtimePath}/ports/{port}`,
    runsOn: 'owner',
    summary: 'How to reach a port',
    description:
      'Makes a token. `url` (`{port}-{runtime_id}.<domain>`) and `path_url` take every HTTP/1.1 request and upgrades such as WebSocket. Without a listener they answer 502 `port_not_listening`. `GET {runtime}/ports/{port}/tcp` with an upgrade to `tcp` opens a raw connection.',
    scope: 'runtime:write',
    params: portParams,
    query: PortQuery,
    body: none,
    answers: { 200: answer(Port, 'The port, with a new token.') },
    errors: insideErrors,
  },
  updatePort: {
    method: 'PATCH',
    path: `${runtimePath}/ports/{port}`,
    runsOn: 'owner',
    whilePaused: 'answer',
    summary: 'Make a port public, or private again',
    description: 'A change to private closes the connections without a token.',
    scope: 'runtime:write',
    params: portParams,
    body: json(UpdatePort),
    answers: { 200: answer(Port, 'The port as it is now, with a new token.') },
    errors: [...insideErrors, 'quota_exceeded', 'unsupported_media_type'],
  },
  rotatePort: {
    method: 'POST',
    path: `${runtimePath}/ports/{port}/rotate`,
    runsOn: 'owner',
    whilePaused: 'answer',
    summary: 'Make every token of a port worthless, and cut what is open',
    scope: 'runtime:write',
    params: portParams,
    body: none,
    answers: { 200: answer(Port, 'The port, with a valid token.') },
    errors: [...insideErrors, 'quota_exceeded'],
    showsSecret: true,
  },
} as const satisfies Record<string, Route>
