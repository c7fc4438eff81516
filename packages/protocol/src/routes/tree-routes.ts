import { ArchiveQuery, ExtractQuery, TreeExtracted, WatchItem, WatchQuery } from '../file-tree.ts'
import type { Route } from '../route.ts'
import { fileErrors } from './file-routes.ts'
import { answer, none, runtimeParams, runtimePath } from './parts.ts'

/** The routes of whole trees of a runtime: one stream of a tree, and its changes. */
export const treeRoutes = {
  readArchive: {
    method: 'GET',
    path: `${runtimePath}/files/archive`,
    summary: 'Read a tree as tar or tar.gz',
    description:
      'POSIX tar (pax). Kept: modes, owners, times to the nanosecond, xattrs (SCHILY.xattr), symlinks, hard links within the tree, FIFOs. Holes are sent as zeros. Sockets and devices are left out; a pax comment at the end names them.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: ArchiveQuery,
    body: none,
    answers: { 200: { type: 'bytes', description: 'The archive. One that breaks off is not complete.' } },
    errors: fileErrors,
  },
  writeArchive: {
    method: 'PUT',
    path: `${runtimePath}/files/archive`,
    summary: 'Make a tree of tar or tar.gz',
    description:
      'Unpacked beside the destination and put in place when all of it is there: a new directory appears at once, and a failure leaves what was there. Names that lead out of the tree, links that do, devices, entries that come twice and archives that end early are refused. Blocks of zeros become holes.',
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
    summary: 'Watch a directory',
    description:
      'Tells what changes, as it happens. The last 16,384 changes are kept while somebody reads and for two minutes after, so that a cursor resumes; one that cannot is answered with `overflow`. At most 16 trees and 32,768 directories of a runtime are watched at once.',
    scope: 'runtime:read',
    params: runtimeParams,
    query: WatchQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: WatchItem,
        description:
          'Items as they come. `end` is the last one, when the directory is gone; a stream without it broke.',
      },
    },
    errors: [...fileErrors, 'conflict'],
  },
} as const satisfies Record<string, Route>
