import { createHash } from 'node:crypto'
import type { Descriptor } from '../image/oci-schemas.ts'
import { bytesOf, refuseFailure } from './answers.ts'
import { authorize, type Login } from './credentials.ts'
import type { Answer, Wire } from './exchange.ts'
import { type Endpoint, isListed } from './image-address.ts'
import { digestOf, type ManifestBytes, manifestTypes } from './manifest.ts'
import { followed } from './redirects.ts'
import type { RegistrySettings } from './registry-contract.ts'
import { retried, waitToRetry } from './retry-policy.ts'
import { TransferError } from './transfer-error.ts'

/** The maximum size of a manifest in bytes. Registries refuse larger ones. */
const maxManifestBytes = 4 * 2 ** 20
/**
 * The bytes after which a connection counts as progress, so that a later failure starts a new count
 * of attempts.
 */
const progressBytes = 2 ** 20

/**
 * One repository on one server: its verified manifests and blobs. Credentials are sent if the
 * server asks for them.
 */
export class Repository {
  readonly endpoint: Endpoint
  readonly #wire: Wire
  readonly #settings: RegistrySettings
  readonly #login: Login | null
  #authorization: string | null = null

  constructor(endpoint: Endpoint, options: { wire: Wire; settings: RegistrySettings; login: Login | null }) {
    this.endpoint = endpoint
    this.#wire = options.wire
    this.#settings = options.settings
    this.#login = endpoint.isMirror ? null : options.login
  }

  /**
   * Returns the digest that a tag names now. One request without a body is enough if the registry
   * sends the digest in a header.
   */
  async resolve(wanted: string, signal: AbortSignal): Promise<string> {
    const said = await this.#retried(signal, async () => {
      const answer = await this.#ask('HEAD', `manifests/${wanted}`, { accept: manifestTypes.join(', ') }, signal)
      answer.close()
      // Some registries do not support HEAD. Then the GET gives the answer.
      if (answer.status !== 405 && answer.status !== 501) refuseFailure(answer, answer.url.host)
      return answer.headers['docker-content-digest']
    })
    const isDigest = typeof said === 'string' && /^sha256:[0-9a-f]{64}$/.test(said)
    if (isDigest && (!wanted.startsWith('sha256:') || said === wanted)) return said
    return (await this.manifest(wanted, signal)).digest
  }

  /** Returns a manifest by tag or digest. A manifest that was requested by digest is verified. */
  manifest(wanted: string, signal: AbortSignal): Promise<ManifestBytes> {
    return this.#retried(signal, async () => {
      const answer = await this.#ask('GET', `manifests/${wanted}`, { accept: manifestTypes.join(', ') }, signal)
      try {
        refuseFailure(answer, answer.url.host)
        const bytes = await bytesOf(answer.body, maxManifestBytes, answer.url.host)
        const digest = digestOf(bytes)
        if (wanted.startsWith('sha256:') && digest !== wanted) throw damaged(answer.url.host, 'manifest')
        const mediaType = (answer.headers['content-type'] ?? '').split(';', 1)[0] ?? ''
        return { bytes, digest, mediaType: mediaType.trim().toLowerCase() }
      } finally {
        answer.close()
      }
    })
  }

  /**
   * Yields the bytes of a blob. A broken transfer resumes at the point of failure. Throws `damaged`
   * at the end unless size and digest match the descriptor. Bytes read before that are unverified.
   */
  async *blob({ digest, size }: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256')
    let done = 0
    let counted = 0
    for (let attempt = 1; done < size || attempt === 1; attempt++) {
      try {
        for await (const chunk of this.#bytesFrom({ digest, size }, done, signal)) {
          hash.update(chunk)
          done += chunk.length
          yield chunk
        }
        if (done < size) throw new TransferError('unreachable', `${this.#host} ends a layer too early.`)
      } catch (error) {
        if (done - counted >= progressBytes) attempt = 1
        counted = done
        await waitToRetry(error, { retryPolicy: this.#wire.retryPolicy, attempt, signal })
      }
    }
    if (`sha256:${hash.digest('hex')}` !== digest) throw damaged(this.#host, 'blob')
  }

  async *#bytesFrom(
    { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
    from: number,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` }
    const answer = await this.#ask('GET', `blobs/${digest}`, range, signal)
    try {
      refuseFailure(answer, answer.url.host)
      let at = startOf(answer, from)
      const promised = answer.headers['content-length']
      if (promised !== undefined && at + Number(promised) !== size) throw damaged(answer.url.host, 'blob')
      for await (const chunk of answer.body) {
        // Bytes before the resumed position or behind the end are dropped. The digest verifies the
        // rest.
        const fresh = chunk.subarray(Math.max(0, from - at), Math.max(0, size - at))
        at += chunk.length
        if (fresh.length > 0) yield fresh
        if (at >= size) return
      }
    } finally {
      answer.close()
    }
  }

  /**
   * Sends one request. After a 401 it is sent once more, with the credentials that the 401 asks
   * for.
   */
  async #ask(
    method: 'GET' | 'HEAD',
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { origin, repository } = this.endpoint
    const url = new URL(`${origin}/v2/${repository}/${path}`)
    const send = () =>
      followed(this.#wire, { url, method, headers, authorization: this.#authorization, ...this.#rules }, signal)
    const answer = await send()
    // A 401 of another server, after a redirect, is not the registry's.
    if (answer.status !== 401 || answer.url.origin !== origin) return answer
    answer.close()
    this.#authorization = null
    const wish = { repository, login: this.#login, rules: this.#rules }
    this.#authorization = await authorize(this.#wire, answer, wish, signal)
    return this.#authorization === null ? answer : send()
  }

  /**
   * Returns the operator's rules for this server. They also apply to redirects from it to other
   * servers that the operator listed, and never to redirects from other registries.
   */
  get #rules() {
    const { origin, isOperators } = this.endpoint
    const isKnown = (url: URL) => isOperators && (url.origin === origin || isListed(url.host, this.#settings.insecure))
    return { isOperators: isKnown, mayBePlain: isKnown }
  }

  get #host(): string {
    return new URL(this.endpoint.origin).host
  }

  #retried<Result>(signal: AbortSignal, once: () => Promise<Result>): Promise<Result> {
    return retried(this.#wire.retryPolicy, signal, once)
  }
}

/**
 * Returns the offset at which the body of an answer to a range begins (RFC 9110, 14.4). A server
 * may send the whole body instead.
 */
function startOf({ status, headers, url }: Answer, from: number): number {
  if (status === 200) return 0
  const start = /^bytes (\d{1,15})-/.exec(headers['content-range'] ?? '')?.[1]
  if (status !== 206 || start === undefined || Number(start) !== from)
    throw new TransferError('invalid', `${url.host} sends another part of a layer than the requested one.`)
  return from
}

function damaged(host: string, what: 'manifest' | 'blob'): TransferError {
  return new TransferError('damaged', `A ${what} from ${host} is damaged: its digest or size is wrong.`)
}
