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
} from './command.ts'
import type { ErrorCode } from './errors.ts'
import {
  CopyFile,
  FileInfo,
  FileTransferred,
  ListFilesQuery,
  MakeDirectory,
  MoveFile,
  PathQuery,
  RemoveFile,
  WriteQuery,
} from './file.ts'
import { idSchema } from './ids.ts'
import { CreateKey, Key, NewKey } from './key.ts'
import { pageOf, pageQuery } from './page.ts'
import type { Route } from './route.ts'
import { CreateRuntime, Isolation, Runtime, runtimeStates, UpdateRuntime } from './runtime.ts'
import { Health, Readiness } from './service.ts'
import { Template } from './template.ts'

const runtimeParams = z.strictObject({ runtime_id: z.string() })
const commandParams = z.strictObject({ runtime_id: z.string(), command_id: z.string() })
const runtimePath = '/v1/agents/runtime/{runtime_id}'

const insideErrors = [
  'runtime_not_found',
  'runtime_not_running',
  'runtime_terminated',
  'timeout',
] as const satisfies readonly ErrorCode[]
const fileErrors = [
  ...insideErrors,
  'invalid_path',
  'path_not_found',
  'path_permission_denied',
  'not_a_directory',
  'symlink_loop',
  'disk_full',
] as const satisfies readonly ErrorCode[]

const none = { type: 'none' } as const
const json = <Schema extends z.ZodType>(schema: Schema) => ({ type: 'json', schema }) as const
const answer = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  ({ type: 'json', schema, description }) as const

/**
 * Every route of the API. Filters of the runtime list named `metadata.KEY` repeat and mean AND; they are read beside the schema.
 */
export const routes = {
  createRuntime: {
    method: 'POST',
    path: '/v1/agents/runtime',
    summary: 'Create a runtime',
    scope: 'runtime:write',
    body: json(CreateRuntime),
    answers: { 201: answer(Runtime, 'The runtime runs.') },
    errors: [
      'template_not_found',
      'name_taken',
      'unsupported_setting',
      'disk_too_small',
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
    query: z.looseObject({
      ...pageQuery,
      state: z.enum(runtimeStates).optional(),
      template: z.string().max(200).optional(),
      name: z.string().max(63).optional(),
      isolation: Isolation.optional(),
    }),
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

  copyFile: {
    method: 'POST',
    path: `${runtimePath}/files/copy`,
    summary: 'Copy a file or a tree inside the runtime',
    description:
      'The copy is made beside the destination and renamed into place: a reader sees the old or the new, a failure leaves the old. Kept: mode, owner, times, xattrs, symlinks, hard links within the tree, holes.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(CopyFile),
    answers: { 200: answer(FileTransferred, 'Copied.') },
    errors: [...fileErrors, 'already_exists', 'is_directory', 'not_a_file', 'unsupported_media_type'],
  },
  moveFile: {
    method: 'POST',
    path: `${runtimePath}/files/move`,
    summary: 'Move a file or a tree inside the runtime',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(MoveFile),
    answers: { 200: answer(FileTransferred, 'Moved.') },
    errors: [...fileErrors, 'already_exists', 'is_directory', 'not_a_file', 'unsupported_media_type'],
  },
  readFile: {
    method: 'GET',
    path: `${runtimePath}/files/content`,
    summary: "Read a file's bytes",
    description: 'One `Range: bytes=` is honoured.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: PathQuery,
    body: none,
    answers: {
      200: { type: 'bytes', description: 'The whole file.' },
      206: { type: 'bytes', description: 'The range.' },
    },
    errors: [...fileErrors, 'is_directory', 'not_a_file', 'range_not_satisfiable'],
  },
  writeFile: {
    method: 'PUT',
    path: `${runtimePath}/files/content`,
    summary: 'Write a file',
    description:
      'Atomic; parents are made. `If-None-Match: *` refuses to replace. An existing file keeps its mode and owner unless they are given.',
    scope: 'runtime:write',
    params: runtimeParams,
    query: WriteQuery,
    body: { type: 'bytes', description: 'The content.' },
    answers: { 200: answer(FileInfo, 'Replaced.'), 201: answer(FileInfo, 'New.') },
    errors: [...fileErrors, 'is_directory', 'not_a_file', 'already_exists'],
  },
  statFile: {
    method: 'GET',
    path: `${runtimePath}/files/stat`,
    summary: 'What is at a path',
    scope: 'runtime:read',
    params: runtimeParams,
    query: PathQuery,
    body: none,
    answers: { 200: answer(FileInfo, 'The file itself; a symlink is not followed.') },
    errors: fileErrors,
  },
  listFiles: {
    method: 'GET',
    path: `${runtimePath}/files/list`,
    summary: 'List a directory',
    scope: 'runtime:read',
    params: runtimeParams,
    query: ListFilesQuery,
    body: none,
    answers: { 200: answer(pageOf(FileInfo).meta({ id: 'FilePage' }), 'Entries, sorted by path.') },
    errors: fileErrors,
  },
  makeDirectory: {
    method: 'POST',
    path: `${runtimePath}/files/mkdir`,
    summary: 'Make a directory',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(MakeDirectory),
    answers: { 200: answer(FileInfo, 'It was there.'), 201: answer(FileInfo, 'New.') },
    errors: [...fileErrors, 'already_exists', 'unsupported_media_type'],
  },
  removeFile: {
    method: 'POST',
    path: `${runtimePath}/files/remove`,
    summary: 'Remove a file or a tree',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(RemoveFile),
    answers: {
      200: answer(
        z.object({ success: z.literal(true), path: z.string() }).meta({ id: 'FileRemoved' }),
        'Removed; links are never followed.',
      ),
    },
    errors: [...fileErrors, 'directory_not_empty', 'unsupported_media_type'],
  },

  listTemplates: {
    method: 'GET',
    path: '/v1/agents/template',
    summary: 'List templates',
    scope: 'template:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Template).meta({ id: 'TemplatePage' }), 'A page of templates.') },
    errors: [],
  },
  getTemplate: {
    method: 'GET',
    path: '/v1/agents/template/{template_id}',
    summary: 'Get a template by id or name',
    scope: 'template:read',
    params: z.strictObject({ template_id: z.string() }),
    body: none,
    answers: { 200: answer(Template, 'The template.') },
    errors: ['template_not_found'],
  },

  createKey: {
    method: 'POST',
    path: '/v1/agents/key',
    summary: 'Make a key',
    scope: 'admin',
    body: json(CreateKey),
    answers: { 201: answer(NewKey, 'The key, with the secret that is shown once.') },
    errors: ['unsupported_media_type'],
  },
  listKeys: {
    method: 'GET',
    path: '/v1/agents/key',
    summary: 'List keys',
    scope: 'admin',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Key).meta({ id: 'KeyPage' }), 'A page of keys, without secrets.') },
    errors: [],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/v1/agents/key/{key_id}',
    summary: 'Revoke a key',
    scope: 'admin',
    params: z.strictObject({ key_id: z.string() }),
    body: none,
    answers: { 204: { type: 'none', description: 'It opens nothing any more.' } },
    errors: ['key_not_found', 'conflict'],
  },

  health: {
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the service answers',
    scope: null,
    body: none,
    answers: { 200: answer(Health, 'It does.') },
    errors: [],
  },
  readiness: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether runtimes can be made',
    scope: null,
    body: none,
    answers: { 200: answer(Readiness, 'They can.'), 503: answer(Readiness, 'They cannot; the reasons are inside.') },
    errors: [],
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This description',
    scope: null,
    body: none,
    answers: { 200: answer(z.record(z.string(), z.unknown()).meta({ id: 'OpenApi' }), 'OpenAPI 3.1.') },
    errors: [],
  },
} as const satisfies Record<string, Route>

/** The name of a route. */
export type RouteName = keyof typeof routes

const idParams = { runtime_id: 'runtime', command_id: 'command', key_id: 'key' } as const

/** True where a path parameter has the form of its id. What has not cannot exist, and is answered as such. */
export function isIdParam(name: keyof typeof idParams, value: string): boolean {
  return idSchema(idParams[name]).safeParse(value).success
}
