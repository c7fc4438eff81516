import { maxSecretBytes, type ProviderSettings } from '@holt/protocol'
import { z } from 'zod'
import { type DialTls, type Form, postForm } from './post-form.ts'

type OAuth = Extract<ProviderSettings, { type: 'oauth2' }>

/** A provider with its client secret. */
export interface OAuthProvider {
  readonly providerId: string
  readonly version: number
  readonly settings: OAuth
  readonly clientSecret: string
}

const requestTimeoutMs = 10_000

/** The pause after a failure of the endpoint, in milliseconds, however often a runtime asks. */
const backOffMs = 5_000

/**
 * The time before the expiry at which a new token is requested, in milliseconds. For a short life
 * it is a tenth of that.
 */
const marginMs = 60_000

/**
 * The life of a token if the answer does not state it, in seconds. RFC 6749 leaves it open, and
 * most live for an hour.
 */
const assumedLifeSecs = 300
const longestLifeSecs = 24 * 3600

/** The answer with a token (RFC 6749, 5.1). It may have other fields. */
const TokenAnswer = z.object({
  access_token: z
    .string()
    .min(1)
    .max(maxSecretBytes)
    .regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().catch(assumedLifeSecs).default(assumedLifeSecs),
})

/**
 * The answer with an error (RFC 6749, 5.2). Only its code is used, because the description may hold
 * anything.
 */
const ErrorAnswer = z.object({ error: z.string().regex(/^[a-z_]{1,64}$/) })

/**
 * A failure to get a token. Of the exchange, the message holds only the status and the error code.
 */
class TokenError extends Error {
  override readonly name = 'TokenError'
}

interface Entry {
  readonly version: number
  token: { readonly text: string; readonly expiresAt: number; readonly freshUntil: number } | null
  failure: { readonly error: TokenError; readonly at: number } | null
  asking: Promise<string> | null
}

/**
 * Access tokens by client credentials (RFC 6749, 4.4). Each is cached until shortly before it
 * expires. Concurrent callers share one request.
 */
export class OAuthTokens {
  readonly #dial: DialTls
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()

  constructor(dial: DialTls, now: () => number) {
    this.#dial = dial
    this.#now = now
  }

  /** Returns a token of a provider. Rejects with `TokenError` if there is none. */
  async token(provider: OAuthProvider): Promise<string> {
    const entry = this.#entryOf(provider)
    const now = this.#now()
    const { token, failure } = entry
    if (token !== null && now < token.freshUntil) return token.text
    const backsOff = failure !== null && now - failure.at < backOffMs
    const stillGood = token !== null && now < token.expiresAt
    if (backsOff) {
      if (stillGood) return token.text
      throw failure.error
    }
    entry.asking ??= this.#ask(entry, provider).finally(() => {
      entry.asking = null
    })
    // A valid token is returned at once, while the next one is requested.
    if (!stillGood) return entry.asking
    entry.asking.catch(() => {})
    return token.text
  }

  /**
   * Returns the reason why the last request for a token failed. Returns null if it succeeded, or if
   * there was none.
   */
  lastError(providerId: string): { readonly message: string; readonly at: number } | null {
    const failure = this.#entries.get(providerId)?.failure ?? null
    return failure === null ? null : { message: failure.error.message, at: failure.at }
  }

  #entryOf({ providerId, version }: OAuthProvider): Entry {
    const known = this.#entries.get(providerId)
    if (known !== undefined && known.version >= version) return known
    const entry: Entry = { version, token: null, failure: null, asking: null }
    this.#entries.set(providerId, entry)
    return entry
  }

  async #ask(entry: Entry, provider: OAuthProvider): Promise<string> {
    try {
      const { access_token, expires_in } = await askForToken(this.#dial, provider)
      const lifeMs = Math.min(expires_in, longestLifeSecs) * 1000
      const at = this.#now()
      entry.token = {
        text: access_token,
        expiresAt: at + lifeMs,
        freshUntil: at + lifeMs - Math.min(marginMs, lifeMs / 10),
      }
      entry.failure = null
      return access_token
    } catch (error) {
      const failure = error instanceof TokenError ? error : new TokenError(reasonOf(error))
      entry.failure = { error: failure, at: this.#now() }
      throw failure
    }
  }
}

async function askForToken(dial: DialTls, provider: OAuthProvider): Promise<z.infer<typeof TokenAnswer>> {
  const { status, text } = await postForm(dial, formOf(provider), AbortSignal.timeout(requestTimeoutMs))
  const json = parseJson(text)
  if (status !== 200) {
    const known = ErrorAnswer.safeParse(json)
    throw new TokenError(`the token endpoint answered ${status}${known.success ? ` (${known.data.error})` : ''}`)
  }
  const parsed = TokenAnswer.safeParse(json)
  if (!parsed.success) throw new TokenError('the token endpoint answered without a usable access_token')
  return parsed.data
}

function formOf({ settings, clientSecret }: OAuthProvider): Form {
  const { token_url, client_id, scopes, audience, authentication } = settings
  const fields = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scopes.length > 0) fields.set('scope', scopes.join(' '))
  if (audience !== null) fields.set('audience', audience)
  if (authentication === 'body') {
    fields.set('client_id', client_id)
    fields.set('client_secret', clientSecret)
    return { url: new URL(token_url), headers: {}, fields }
  }
  const pair = `${formEncoded(client_id)}:${formEncoded(clientSecret)}`
  const authorization = `Basic ${Buffer.from(pair).toString('base64')}`
  return { url: new URL(token_url), headers: { authorization }, fields }
}

/** Encodes id or secret as a form value before they are joined (RFC 6749, 2.3.1). */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // The answer is not JSON.
  }
}

/**
 * Returns the reason of a failed connection in fixed words. The error's own message may name
 * addresses.
 */
function reasonOf(error: unknown): string {
  if (error instanceof DOMException && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'the token endpoint did not answer in time'
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(code)
    ? `the token endpoint could not be reached (${code})`
    : 'the token endpoint could not be reached'
}
