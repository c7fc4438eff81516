import type { IncomingMessage } from 'node:http'
import { isSet } from '@holt/protocol'
import type { Answer, Call } from '../../foundation/wire/call.ts'
import { diffFiles } from '../../inside/diff/diff-files.ts'
import { presentFile } from '../../inside/files/present-file.ts'
import { uploadBody } from '../../inside/files/upload-body.ts'
import { watchFiles } from '../../inside/files/watch-files.ts'
import type { Api, Handlers } from '../api.ts'

/**
 * The routes of whole trees. Streams have backpressure, and an answer ends when the client
 * disconnects.
 */
export const treeHandlers = { diffFiles, readArchive, writeArchive, watchFiles } satisfies Partial<Handlers>

async function readArchive(call: Call<'readArchive', Api>): Promise<Answer> {
  const { format } = call.query
  const bytes = await (await call.guest()).trees.readArchive(call.query, call.gone)
  const type = format === 'tar' ? 'application/x-tar' : 'application/gzip'
  return { status: 200, bytes, headers: { 'content-type': type } }
}

async function writeArchive(call: Call<'writeArchive', Api>): Promise<Answer> {
  const { path, format = null, user = null, max_entries, max_bytes = null, ...how } = call.query
  const { created, tree } = await (await call.guest()).trees.writeArchive(
    {
      path,
      format,
      user,
      keepOwners: isSet(how.keep_owners),
      overwrite: isSet(how.overwrite),
      merge: isSet(how.merge),
      maxEntries: max_entries,
      maxBytes: max_bytes,
      body: uploadBody(call.body as IncomingMessage, call.service.limits.quietBodyMs),
    },
    call.gone,
  )
  const { entry, ...totals } = tree
  return { status: created ? 201 : 200, json: { success: true, path, entry: presentFile(entry), ...totals } }
}
