import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
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
} from '../file.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

const fileErrors = [
  ...insideErrors,
  'invalid_path',
  'path_not_found',
  'path_permission_denied',
  'not_a_directory',
  'symlink_loop',
  'disk_full',
] as const satisfies readonly ErrorCode[]

/** Files in a runtime. */
export const fileRoutes = {
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
    description: "One `Range: bytes=` is honoured. The header `X-Holt-Mode` has the file's mode, for example `0644`.",
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
} as const satisfies Record<string, Route>
