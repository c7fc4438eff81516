import { E2bError, isAbsentPath, matchControl } from '@holt/e2b'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { writeAnswer } from '../answers/write-answer.ts'

/** Answers a request to the control plane. A thrown error becomes its answer. */
export async function serveControl(asked: E2bRequest): Promise<void> {
  const { path, request } = asked
  if (isAbsentPath(path)) throw new E2bError(501, 'This ability is not part of this service')
  const match = matchControl(request.method ?? '', path)
  if (typeof match === 'string') throw new E2bError(match === 'path' ? 404 : 405, 'There is no such path here')
  asked.route = match.name
  if (match.name !== 'health') throw new E2bError(501, 'This is not part of this service')
  writeAnswer(asked, { status: 204 })
}
