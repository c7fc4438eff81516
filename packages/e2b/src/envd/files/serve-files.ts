import type { IncomingMessage, ServerResponse } from 'node:http'
import { namedUser } from '../../connect/call-headers.ts'
import type { VisitedSandbox } from '../backend/sandbox.ts'
import { download } from './download.ts'
import { upload } from './upload.ts'

/**
 * Answers `/files`: a download, or an upload, whose answer it returns. A signed address acts for
 * the user that it names, whatever the headers say.
 */
export async function serveFiles(
  { request, response, query }: { request: IncomingMessage; response: ServerResponse; query: URLSearchParams },
  sandbox: VisitedSandbox,
): Promise<object | null> {
  const { gone: signal, bySignature } = sandbox
  const path = query.get('path')
  const { files } = await sandbox.open()
  const account = query.get('username') || (bySignature ? null : namedUser(request.headers))
  if (request.method === 'POST') return upload({ request, sandbox, files, account, path, signal })
  await download({ request, response, files, place: { account, path: path ?? '' }, signal })
  return null
}
