import { z } from 'zod'
import type { ErrorCode } from '../errors.ts'
import {
  ChangeMode,
  ChangeOwner,
  CopyFile,
  FileChanged,
  FileInfo,
  FileTransferred,
  ListFilesQuery,
  MakeDirectory,
  MakeSymlink,
  MoveFile,
  PathQuery,
  RemoveFile,
  WriteQuery,
} from '../file.ts'
import { ReplaceInFiles, ReplaceResult, SearchFiles, SearchItem, SearchResult } from '../file-search.ts'
import { Upload, UploadQuery } from '../file-upload.ts'
import { pageOf } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

/** The errors that every route about a path may return. */
export const fileErrors = [
  ...insideErrors,
  'invalid_path',
  'path_not_found',
  'path_permission_denied',
  'not_a_directory',
  'symlink_loop',
] as const satisfies readonly ErrorCode[]

/** The routes of files in a runtime. */
export const fileRoutes = {
  copyFile: {
    method: 'POST',
    path: `${runtimePath}/files/copy`,
    summary: 'Copy a file or a tree inside the runtime',
    description:
      'The copy is made beside the destination and renamed into place. A reader sees the old or the new content, and a failure leaves the old one. The copy keeps mode, owner, times, xattrs, symlinks, holes and hard links within the tree.',
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
    description:
      "One `Range: bytes=` is honoured, with `If-Range: ETAG` only of the same file. The header `ETag` names the version, for `If-Match` of a write. The header `X-Holt-Mode` has the file's mode, for example `0644`.",
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
      'Replaces the file atomically and creates its parents. `If-None-Match: *` refuses an existing file, which otherwise keeps its mode and owner. `If-Match` replaces only a version, by its etag or `*`. `Content-Digest` and `Repr-Digest` with `sha-256` (RFC 9530) are verified. With `upload_id`, an interrupted upload is kept for an hour and continues at `offset`.',
    scope: 'runtime:write',
    params: runtimeParams,
    query: WriteQuery,
    body: { type: 'bytes', description: 'The content.' },
    answers: {
      200: answer(FileInfo, 'Replaced.'),
      201: answer(FileInfo, 'New.'),
      202: answer(Upload, 'A part was stored. More parts follow.'),
    },
    errors: [
      ...fileErrors,
      'is_directory',
      'not_a_file',
      'already_exists',
      'conflict',
      'precondition_failed',
      'digest_mismatch',
    ],
    takesIfMatch: true,
  },
  getUpload: {
    method: 'GET',
    path: `${runtimePath}/files/upload`,
    summary: 'How far an upload in parts is',
    description: 'An unknown upload has 0 bytes.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: UploadQuery,
    body: none,
    answers: { 200: answer(Upload, 'The state of the upload.') },
    errors: [...fileErrors, 'conflict'],
  },
  abortUpload: {
    method: 'DELETE',
    path: `${runtimePath}/files/upload`,
    summary: 'Remove what has come of an upload in parts',
    scope: 'runtime:write',
    params: runtimeParams,
    query: UploadQuery,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: [...fileErrors, 'conflict'],
  },
  statFile: {
    method: 'GET',
    path: `${runtimePath}/files/stat`,
    summary: 'What is at a path',
    scope: 'runtime:read',
    params: runtimeParams,
    query: PathQuery,
    body: none,
    answers: { 200: answer(FileInfo, 'The facts of the path. Symlinks are not followed.') },
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
    answers: { 200: answer(FileInfo, 'It existed.'), 201: answer(FileInfo, 'New.') },
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
        z
          .object({
            success: z.literal(true).describe('Always true.'),
            path: z.string().describe('The canonical path that was removed.'),
          })
          .meta({ id: 'FileRemoved' }),
        'Removed; links are never followed.',
      ),
    },
    errors: [...fileErrors, 'directory_not_empty', 'unsupported_media_type'],
  },
  makeSymlink: {
    method: 'POST',
    path: `${runtimePath}/files/symlink`,
    summary: 'Make a symlink',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(MakeSymlink),
    answers: { 200: answer(FileInfo, 'It replaced something.'), 201: answer(FileInfo, 'New.') },
    errors: [...fileErrors, 'already_exists', 'unsupported_media_type'],
  },
  changeMode: {
    method: 'POST',
    path: `${runtimePath}/files/chmod`,
    summary: 'Change the mode of a file or a tree',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(ChangeMode),
    answers: { 200: answer(FileChanged, 'Changed.') },
    errors: [...fileErrors, 'conflict', 'unsupported_media_type'],
  },
  changeOwner: {
    method: 'POST',
    path: `${runtimePath}/files/chown`,
    summary: 'Change the owner of a file or a tree',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(ChangeOwner),
    answers: { 200: answer(FileChanged, 'Changed.') },
    errors: [...fileErrors, 'conflict', 'unsupported_media_type'],
  },
  searchFiles: {
    method: 'POST',
    path: `${runtimePath}/files/search`,
    summary: 'Search for files by name and by content',
    description:
      'Matches are sorted by path. Only `path` itself may be a symlink that is followed, and only regular files are opened. Files with a NUL byte are binary and are skipped. At most 1 MiB of a line is searched. It streams if `Accept` asks for a stream.',
    scope: 'runtime:read',
    params: runtimeParams,
    body: json(SearchFiles),
    answers: { 200: { ...answer(SearchResult, 'The matches.'), stream: SearchItem } },
    errors: [...fileErrors, 'not_a_file', 'unsupported_media_type'],
  },
  replaceInFiles: {
    method: 'POST',
    path: `${runtimePath}/files/replace`,
    summary: 'Replace a pattern in files',
    description:
      'All files are searched before any is changed. Nothing is changed if a file of `paths` is not a text file of at most 16 MiB, or if the count differs from `expected_count`. Each file is replaced atomically, and keeps mode, owner and attributes.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(ReplaceInFiles),
    answers: { 200: answer(ReplaceResult, 'The files with the pattern.') },
    errors: [...fileErrors, 'is_directory', 'not_a_file', 'conflict', 'unsupported_media_type'],
  },
} as const satisfies Record<string, Route>
