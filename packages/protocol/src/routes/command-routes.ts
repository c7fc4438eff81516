import { z } from 'zod'
import {
  Command,
  CommandResult,
  OutputItem,
  OutputQuery,
  SendSignal,
  StartCommand,
  StdinWritten,
  WriteStdin,
} from '../command.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

const commandParams = z.strictObject({ runtime_id: z.string(), command_id: z.string() })

/** Commands in a runtime. */
export const commandRoutes = {
  startCommand: {
    method: 'POST',
    path: `${runtimePath}/commands`,
    summary: 'Run a command',
    description:
      'Waits and answers the result; streams items where the client accepts `text/event-stream` or `application/x-ndjson`; answers at once if `background`. Closing the connection does not end the command. A command that times out is a result, not an error.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(StartCommand),
    answers: {
      200: { type: 'json', schema: CommandResult, description: 'It ended.', stream: OutputItem },
      201: answer(Command, 'It runs in the background.'),
    },
    errors: [...insideErrors, 'invalid_path', 'unsupported_media_type'],
  },
  listCommands: {
    method: 'GET',
    path: `${runtimePath}/commands`,
    summary: 'List commands, newest first',
    scope: 'runtime:read',
    params: runtimeParams,
    query: z.strictObject({ ...pageQuery, state: z.enum(['running', 'exited']).optional() }),
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
        description: 'Items after the cursor. `end` is the last one; a stream without it broke.',
      },
    },
    errors: [...insideErrors, 'command_not_found'],
  },
  writeStdin: {
    method: 'POST',
    path: `${runtimePath}/commands/{command_id}/stdin`,
    summary: "Write to a command's stdin",
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
  killCommand: {
    method: 'DELETE',
    path: `${runtimePath}/commands/{command_id}`,
    summary: 'Kill every process of a command',
    scope: 'runtime:write',
    params: commandParams,
    body: none,
    answers: { 200: answer(Command, 'Nothing of it runs any more.') },
    errors: [...insideErrors, 'command_not_found'],
  },
} as const satisfies Record<string, Route>
