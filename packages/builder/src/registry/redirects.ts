import { type Answer, exchange, type Wire } from './exchange.ts'
import { TransferError } from './transfer-error.ts'

/** A request with the rules for its redirects. */
export interface Journey {
  readonly url: URL
  readonly method: 'GET' | 'HEAD'
  readonly headers: Readonly<Record<string, string>>
  /** The credentials. They are sent only to the origin of `url`. */
  readonly authorization: string | null
  /** Returns true if the operator named this address, which may then be any address. */
  isOperators(url: URL): boolean
  /** Returns true if plain HTTP is allowed there. */
  mayBePlain(url: URL): boolean
}

const maxRedirects = 5
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * Sends a request and follows redirects. Each address is checked like the first one, and
 * credentials go only to the origin that they are for.
 */
export async function followed(wire: Wire, journey: Journey, signal: AbortSignal): Promise<Answer> {
  let url = journey.url
  for (let redirect = 0; redirect <= maxRedirects; redirect++) {
    refuseUnlessAllowed(url, journey)
    const isHome = url.origin === journey.url.origin
    const headers = { ...journey.headers, ...(isHome ? authorization(journey) : {}) }
    const answer = await exchange(
      wire,
      { url, method: journey.method, headers, isOperators: journey.isOperators(url) },
      signal,
    )
    if (!redirects.has(answer.status)) return answer
    answer.close()
    const { location } = answer.headers
    if (location === undefined || !URL.canParse(location, url.href))
      throw new TransferError('invalid', `${url.host} redirects without a Location.`)
    url = new URL(location, url)
  }
  throw new TransferError('invalid', `${journey.url.host} redirects more than ${maxRedirects} times.`)
}

function authorization(journey: Journey): Record<string, string> {
  return journey.authorization === null ? {} : { authorization: journey.authorization }
}

function refuseUnlessAllowed(url: URL, journey: Journey): void {
  const isPlain = url.protocol === 'http:'
  if (!isPlain && url.protocol !== 'https:')
    throw new TransferError('not_allowed', `${journey.url.host} redirects to something that is not HTTP.`)
  if (url.username !== '' || url.password !== '')
    throw new TransferError('not_allowed', `The address at ${url.host} has credentials in it.`)
  if (isPlain && !journey.mayBePlain(url))
    throw new TransferError('not_allowed', `${url.host} would be contacted without TLS.`)
}
