import type { ServerResponse } from 'node:http'
import { ClientGone } from '../../foundation/wire/client-gone.ts'
import type { Credential } from '../../tenancy/auth/open-streams.ts'
import type { Api } from '../api.ts'

/**
 * Returns a function that makes the signal on its first call. The signal aborts when the client
 * leaves before the end of the response, its key becomes invalid, or the service closes.
 * `credential` is null if the route takes no key.
 */
export function goneSignal(service: Api, response: ServerResponse, credential: Credential | null): () => AbortSignal {
  let signal: AbortSignal | null = null
  return () => {
    signal ??= watch(service, response, credential)
    return signal
  }
}

function watch(service: Api, response: ServerResponse, credential: Credential | null): AbortSignal {
  const controller = new AbortController()
  const end = () => controller.abort(service.closing.reason ?? new ClientGone('the client disconnected'))
  service.closing.addEventListener('abort', end)
  response.once('close', () => {
    service.closing.removeEventListener('abort', end)
    if (!response.writableFinished) end()
  })
  if (service.closing.aborted || response.destroyed) end()
  else if (credential !== null) service.streams.add(credential, response, () => response.destroy())
  return controller.signal
}
