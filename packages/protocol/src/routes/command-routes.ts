import { z } from 'zod'
import { AttachQuery, attachAnswer, attachDescription } from '../attach.ts'
import {
  Command,
  CommandResult,
  OutputItem,
  OutputQuery,
  SendSignal,
  StartCommand,
  StdinWritten,
  TerminalSize,
  WriteStdin,
} from '../command.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { Session } from '../session.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

const commandParams = runtimeParams.extend({ command_id: z.string().describe('The id of the command.') })

/** The routes of commands in a runtime. */
export const commandRoutes = {
  startCommand: {
    method: 'POST',
    path: `${runtimePath}/commands`,
    summary: 'Run a command',
    description:
      'Waits and answers the result. It streams items if the client accepts `text/event-stream` or `application/x-ndjson`, and answers at once with `background`. A closed connection does not end the command. A command that times out is a result, not an error.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(StartCommand),
    answers: {
      200: { type: 'json', schema: CommandResult, description: 'The command has ended.', stream: OutputItem },
      201: answer(Command, 'It runs in the background.'),
    },
    errors: [...insideErrors, 'invalid_path', 'unsupported_setting', 'conflict', 'unsupported_media_type'],
  },
  listCommands: {
    method: 'GET',
    path: `${runtimePath}/commands`,
    summary: 'List commands, newest first',
    scope: 'runtime:read',
    params: runtimeParams,
    query: z.strictObject({
      ...pageQuery,
      state: z.enum(['running', 'exited']).optional().describe('Only commands in this state.'),
    }),
    body: none,
    answers: {
      200: answer(
        pageOf(Command).meta({ id: 'CommandPage' }),
        'A page of commands; the newest 1,000 ended ones are kept.',
      ),
    },
    errors: insideErrors,
  },
  getCommand: {
    method: 'GET',
    path: `${runtimePath}/commands/{command_id}`,
    summary: 'Get a command',
    scope: 'runtime:read',
    params: commandParams,
    body: none,
    answers: { 200: answer(Command, 'The command.') },
    errors: [...insideErrors, 'command_not_found'],
  },
  readOutput: {
    method: 'GET',
    path: `${runtimePath}/commands/{command_id}/output`,
    summary: "Read a command's output from any point that is kept",
    scope: 'runtime:read',
    params: commandParams,
    query: OutputQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: OutputItem,
        description: 'Items after the cursor. The last one is `end`. A stream without it is incomplete.',
      },
    },
    errors: [...insideErrors, 'command_not_found'],
  },
  writeStdin: {
    method: 'POST',
    path: `${runtimePath}/commands/{command_id}/stdin`,
    summary: "Write to a command's stdin",
    description:
      'A repeated write with the same `offset` writes nothing twice. A too large offset is 409 `conflict` with `details.reason` `stdin_gap`, and a closed stdin is `stdin_closed`. `details.offset` is the current offset. An empty write answers with the offset.',
    scope: 'runtime:write',
    params: commandParams,
    body: json(WriteStdin),
    answers: { 200: answer(StdinWritten, 'Written.') },
    errors: [...insideErrors, 'command_not_found', 'conflict', 'unsupported_media_type'],
  },
  sendSignal: {
    method: 'POST',
    path: `${runtimePath}/commands/{command_id}/signal`,
    summary: "Send a signal to a command's process group",
    scope: 'runtime:write',
    params: commandParams,
    body: json(SendSignal),
    answers: { 200: answer(Command, 'Sent.') },
    errors: [...insideErrors, 'command_not_found', 'conflict', 'unsupported_media_type'],
  },
  resizeTerminal: {
    method: 'POST',
    path: `${runtimePath}/commands/{command_id}/resize`,
    summary: "Change the size of a command's terminal",
    scope: 'runtime:write',
    params: commandParams,
    body: json(TerminalSize),
    answers: { 200: answer(Command, 'The terminal has the new size. Its foreground processes got SIGWINCH.') },
    errors: [...insideErrors, 'command_not_found', 'conflict', 'unsupported_media_type'],
  },
  attachCommand: {
    method: 'GET',
    path: `${runtimePath}/commands/{command_id}/attach`,
    summary: "Attach to a command's output and input over a WebSocket",
    description: attachDescription,
    scope: 'runtime:read',
    params: commandParams,
    query: AttachQuery,
    body: none,
    answers: { 101: attachAnswer },
    errors: [...insideErrors, 'command_not_found', 'quota_exceeded', 'upgrade_required'],
  },
  killCommand: {
    method: 'DELETE',
    path: `${runtimePath}/commands/{command_id}`,
    summary: 'Kill every process of a command',
    scope: 'runtime:write',
    params: commandParams,
    body: none,
    answers: { 200: answer(Command, 'Every process of the command has ended.') },
    errors: [...insideErrors, 'command_not_found'],
  },
  listSessions: {
    method: 'GET',
    path: `${runtimePath}/sessions`,
    summary: 'List shell sessions, newest first',
    scope: 'runtime:read',
    params: runtimeParams,
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Session).meta({ id: 'SessionPage' }), 'A page of sessions.') },
    errors: insideErrors,
  },
  endSession: {
    method: 'DELETE',
    path: `${runtimePath}/sessions/{name}`,
    summary: 'End a shell session, and kill what its commands have left running',
    scope: 'runtime:write',
    params: runtimeParams.extend({ name: z.string().describe('The name of the session.') }),
    body: none,
    answers: { 204: { type: 'none', description: 'The session has ended.' } },
    errors: [...insideErrors, 'session_not_found'],
  },
} as const satisfies Record<string, Route>
