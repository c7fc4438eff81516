import type { ServerResponse } from 'node:http'
import type { Credential } from '../auth/open-streams.ts'
import type { Service } from '../service.ts'

/**
 * Why a request is given up: nobody is there to read the answer. It is no failure of the service.
 */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/**
 * A signal that ends when the client of a response has left before its end, when its key is no
 * longer valid, or when the service closes. Made when first asked for. `credential` is null where
 * the route takes no key.
 */
export function goneSignal(
  service: Service,
  response: ServerResponse,
  credential: Credential | null,
): () => AbortSignal {
  let signal: AbortSignal | null = null
  return () => {
    signal ??= watch(service, response, credential)
    return signal
  }
}

function watch(service: Service, response: ServerResponse, credential: Credential | null): AbortSignal {
  const controller = new AbortController()
  const end = () => controller.abort(service.closing.reason ?? new ClientGone('the client is gone'))
  service.closing.addEventListener('abort', end)
  response.once('close', () => {
    service.closing.removeEventListener('abort', end)
    if (!response.writableFinished) end()
  })
  if (service.closing.aborted || response.destroyed) end()
  else if (credential !== null) service.streams.add(credential, response, () => response.destroy())
  return controller.signal
}
