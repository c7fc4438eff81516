import { createHash } from 'node:crypto'
import type { Descriptor } from '../image/oci-schemas.ts'
import { bytesOf, refuseFailure } from './answers.ts'
import type { RegistrySettings } from './contract.ts'
import { authorize, type Login } from './credentials.ts'
import type { Answer, Wire } from './exchange.ts'
import { digestOf, type ManifestBytes, manifestTypes } from './manifest.ts'
import { retried, waitToRetry } from './patience.ts'
import { type Endpoint, isListed } from './place.ts'
import { followed } from './redirects.ts'
import { TransferError } from './transfer-error.ts'

/** Registries themselves refuse larger manifests. */
const maxManifestBytes = 4 * 2 ** 20
/** After so many bytes a connection was worth it: what breaks after that counts anew. */
const progressBytes = 2 ** 20

/**
 * One repository on one server: manifests and blobs of it, verified, with credentials where they
 * are asked for.
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

  /** The digest that a tag names now, by one request without a body where the registry says it. */
  async resolve(wanted: string, signal: AbortSignal): Promise<string> {
    const said = await this.#retried(signal, async () => {
      const answer = await this.#ask('HEAD', `manifests/${wanted}`, { accept: manifestTypes.join(', ') }, signal)
      answer.close()
      // Some registries know no HEAD; what they mean by that the GET will tell.
      if (answer.status !== 405 && answer.status !== 501) refuseFailure(answer, answer.url.host)
      return answer.headers['docker-content-digest']
    })
    const isDigest = typeof said === 'string' && /^sha256:[0-9a-f]{64}$/.test(said)
    if (isDigest && (!wanted.startsWith('sha256:') || said === wanted)) return said
    return (await this.manifest(wanted, signal)).digest
  }

  /** A manifest, by tag or digest. One that was asked for by its digest has it. */
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
   * The bytes of a blob. What breaks is gone on with where it broke. Its end throws `damaged`
   * unless size and digest are what the descriptor promises; nothing read before that may be
   * believed.
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
        await waitToRetry(error, { patience: this.#wire.patience, attempt, signal })
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
        // What was there before, and what stands behind the end, is left out; the digest tells
        // whether that was right.
        const fresh = chunk.subarray(Math.max(0, from - at), Math.max(0, size - at))
        at += chunk.length
        if (fresh.length > 0) yield fresh
        if (at >= size) return
      }
    } finally {
      answer.close()
    }
  }

  /** One request; a 401 is answered once with what it asks for. */
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
    // A 401 of somebody that it was redirected to is not the registry's.
    if (answer.status !== 401 || answer.url.origin !== origin) return answer
    answer.close()
    this.#authorization = null
    const wish = { repository, login: this.#login, rules: this.#rules }
    this.#authorization = await authorize(this.#wire, answer, wish, signal)
    return this.#authorization === null ? answer : send()
  }

  /**
   * What the operator said of this server holds for it and, where it leads to others that he
   * listed, for them; never for where other registries lead.
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
    return retried(this.#wire.patience, signal, once)
  }
}

/**
 * Where the body of an answer to a range begins (RFC 9110, 14.4): a server may send all instead.
 */
function startOf({ status, headers, url }: Answer, from: number): number {
  if (status === 200) return 0
  const start = /^bytes (\d{1,15})-/.exec(headers['content-range'] ?? '')?.[1]
  if (status !== 206 || start === undefined || Number(start) !== from)
    throw new TransferError('invalid', `${url.host} answers with another part of a layer than it was asked for.`)
  return from
}

function damaged(host: string, what: 'manifest' | 'blob'): TransferError {
  return new TransferError(
    'damaged',
    `A ${what} from ${host} is damaged: it does not have the digest or size that it has to have.`,
  )
}
