import { ConnectError, E2bError } from '@holt/e2b'
import { HoltError } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { connectionFacts } from '../../foundation/request/vouch.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { apiAnswerHeaders } from '../../foundation/wire/api-answer-headers.ts'
import { endToEndHeaders } from '../../foundation/wire/end-to-end-headers.ts'
import type { Forwarder, Owned } from '../../foundation/wire/forwarder.ts'
import { isCredentialHeader, isFleetHeader } from '../../tenancy/auth/credential-headers.ts'
import { admitToSandbox, type EnvdAsked } from './enter-sandbox.ts'

/**
 * Forwards an admitted request for commands and files to the owner of its runtime. The owner checks
 * the token of the runtime again, counts the request, and writes its audit entry. Returns false if
 * this host answers, also with a refusal.
 */
export async function forwardEnvd(service: Api, forwarder: Forwarder, entered: EnvdAsked): Promise<boolean> {
  const row = await admitted(service, entered)
  if (row === null) return false
  const { project_id: projectId, runtime_id: id } = row
  const owned: Owned = { type: 'runtime', projectId, id, wakes: 'request' }
  if (!(await forwarder.isElsewhere(owned))) return false
  const { request, response, requestId } = entered.asked
  const hides = (name: string, value: string) => {
    // Clients name the user of a command by it.
    const isUser = name === 'authorization' && /^basic /i.test(value)
    const isOwn = isFleetHeader(name) || name === 'expect' || name === 'x-request-id'
    return isOwn || (isCredentialHeader(name) && !isUser)
  }
  const status = await forwarder.forward({
    ...{ owned, request, response, target: request.url ?? '/', headers: endToEndHeaders(request, hides) },
    answerHeaders: apiAnswerHeaders,
    vouch: {
      requestId,
      ...connectionFacts(request),
      caller: null,
      // The owner believes nothing of it but the project: the request has a token or signature.
      visit: { projectId, by: 'public', credential: null, expiresAt: null, generation: 0 },
      surface: 'e2b',
    },
    traceparent: null,
    isBulk: true,
    beforeAnswer: () => ({}),
  })
  return status !== null
}

/** Returns the runtime of a request that may visit it. Null: this host tells the client why not. */
async function admitted(service: Api, entered: EnvdAsked): Promise<RuntimeRow | null> {
  try {
    return (await admitToSandbox(service, entered)).row
  } catch (error) {
    if (error instanceof E2bError || error instanceof ConnectError || error instanceof HoltError) return null
    throw error
  }
}
