import { E2bError, matchEnvd, serveEnvd as serveAgent } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { RequestAccounts } from '../../api/http/request-accounts.ts'
import type { Forwarder } from '../../foundation/wire/forwarder.ts'
import { toHoltError } from '../../foundation/wire/send-error.ts'
import { writeAnswer } from '../answers/write-answer.ts'
import { type EnvdAsked, enterSandbox } from './enter-sandbox.ts'
import { envdErrorOf } from './envd-error.ts'
import { forwardEnvd } from './forward-envd.ts'

/** The parts that all requests for commands and files share. */
interface EnvdParts {
  readonly accounts: RequestAccounts
  /** Sends the request to another host. Null: this host answers. */
  readonly forwarder: Forwarder | null
}

/**
 * Answers a request for the commands and files of a runtime, or forwards it to the owner of the
 * runtime. `sandboxId` is null for a signed URL that names none. A thrown error becomes an answer
 * of the REST paths.
 */
export async function serveEnvd(
  service: Api,
  { accounts, forwarder }: EnvdParts,
  { asked, sandboxId, watchers }: Omit<EnvdAsked, 'route'>,
): Promise<void> {
  const { request, response, path, query, requestId } = asked
  const match = matchEnvd(request.method ?? '', path)
  if (typeof match === 'string') throw new E2bError(match === 'path' ? 404 : 405, 'There is no such path here')
  const { name: route } = match
  asked.route = route
  if (forwarder !== null && (await forwardEnvd(service, forwarder, { asked, route, sandboxId, watchers }))) return
  // A request whose client has left counts until its work ends: a write may still wait for others.
  using works = new DisposableStack()
  const answer = await serveAgent(
    { request, response, route, path, query },
    {
      enter: async () => {
        const { visited, work } = await enterSandbox(service, accounts, { asked, route, sandboxId, watchers })
        works.use(work)
        return visited
      },
      errorOf: (error) => envdErrorOf(toHoltError(error, service.log, requestId), { sandboxId: sandboxId ?? '' }),
      now: () => service.now(),
    },
  )
  if (answer !== null) writeAnswer(asked, answer)
}
