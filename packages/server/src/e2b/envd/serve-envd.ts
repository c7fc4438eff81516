import { admissionOf, E2bError, matchEnvd, wrongToken } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { findSandbox } from '../sandbox/find-sandbox.ts'
import { isSandboxToken } from '../sandbox/sandbox-token.ts'
import { beginVisit } from '../sandbox/sandbox-visit.ts'

/**
 * Answers a request for the commands and files of a runtime. `sandboxId` is null for a signed URL
 * that names none. A thrown error becomes an answer of the REST paths.
 */
export async function serveEnvd(
  service: Api,
  accounts: RequestAccounts,
  { asked, sandboxId }: { readonly asked: E2bRequest; readonly sandboxId: string | null },
): Promise<void> {
  const match = matchEnvd(asked.request.method ?? '', asked.path)
  if (typeof match === 'string') throw new E2bError(match === 'path' ? 404 : 405, 'There is no such path here')
  asked.route = match.name
  if (sandboxId === null) throw new E2bError(401, 'invalid signature')
  const row = await findSandbox(service, sandboxId)
  const text = asked.request.headers['x-access-token']
  const hasToken = typeof text === 'string' && isSandboxToken(service.portSecret, 'envd', { holder: row, text })
  if (admissionOf(match.name) !== 'none' && !hasToken) throw wrongToken()
  const visit = await beginVisit(service, accounts, { asked, row })
  await visit.guest()
  if (match.name !== 'envdHealth') throw new E2bError(501, 'This is not part of this service')
  writeAnswer(asked, { status: 204 })
}
