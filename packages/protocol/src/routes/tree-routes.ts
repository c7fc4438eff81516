import { DiffQuery, FileDiff } from '../file-diff.ts'
import { ArchiveQuery, ExtractQuery, TreeExtracted, WatchItem, WatchQuery } from '../file-tree.ts'
import type { Route } from '../route.ts'
import { fileErrors } from './file-routes.ts'
import { answer, insideErrors, none, runtimeParams, runtimePath } from './parts.ts'

/** The routes of directory trees in a runtime: a tree as one stream, and its changes. */
export const treeRoutes = {
  diffFiles: {
    method: 'GET',
    path: `${runtimePath}/diff`,
    runsOn: 'owner',
    summary: 'List the files that have changed',
    description:
      'Compares the files of the runtime with the image with which it began, or with a snapshot. Times and extended attributes are not compared, and mounts such as `/proc` and `/dev` are left out. A paused runtime is resumed, as for every read of its files. The patch shows files and symlinks of at most 1 MiB.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: DiffQuery,
    body: none,
    answers: { 200: answer(FileDiff, 'A page of changes.') },
    errors: [...insideErrors, 'invalid_path', 'path_not_found', 'snapshot_not_found', 'conflict'],
  },
  readArchive: {
    method: 'GET',
    path: `${runtimePath}/files/archive`,
    runsOn: 'owner',
    summary: 'Read a tree as tar or tar.gz',
    description:
      'A POSIX tar archive (pax). It keeps modes, owners, times to the nanosecond, xattrs (SCHILY.xattr), symlinks, FIFOs and hard links within the tree. Holes are sent as zeros. Sockets and devices are left out, and a pax comment at the end names them.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: ArchiveQuery,
    body: none,
    answers: { 200: { type: 'bytes', description: 'The archive. It is complete only with its end.' } },
    errors: fileErrors,
  },
  writeArchive: {
    method: 'PUT',
    path: `${runtimePath}/files/archive`,
    runsOn: 'owner',
    summary: 'Make a tree of tar or tar.gz',
    description:
      'The archive is unpacked beside the destination, and then renamed into place. A failure leaves the destination unchanged. The service refuses names and links that lead out of the tree, devices, duplicate entries and truncated archives. Blocks of zeros become holes.',
    scope: 'runtime:write',
    params: runtimeParams,
    query: ExtractQuery,
    body: { type: 'bytes', description: 'The archive.' },
    answers: { 200: answer(TreeExtracted, 'Replaced or merged.'), 201: answer(TreeExtracted, 'New.') },
    errors: [...fileErrors, 'invalid_archive', 'already_exists', 'is_directory', 'conflict'],
  },
  watchFiles: {
    method: 'GET',
    path: `${runtimePath}/files/watch`,
    runsOn: 'owner',
    summary: 'Watch a directory',
    description:
      'A stream of changes. The last 16,384 are kept for two minutes after the last reader, so that a cursor can resume. A reader whose cursor is too old gets `overflow`. At most 16 trees and 32,768 directories of a runtime are watched at once.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: WatchQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: WatchItem,
        description:
          'Items as they happen. The last one is `end`, after the directory was removed. A stream without it is incomplete.',
      },
    },
    errors: [...fileErrors, 'conflict'],
  },
} as const satisfies Record<string, Route>
