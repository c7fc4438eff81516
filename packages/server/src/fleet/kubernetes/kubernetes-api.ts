import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { createInterface } from 'node:readline'

/** The files of a pod's service account. */
const serviceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The timeout of a request without a watch, in milliseconds. */
const requestMs = 10_000

/**
 * The maximum number of characters of an answer or of an event. A Node has some tens of thousands.
 */
const answerMax = 4 * 2 ** 20

/** The address of the API server, and the credentials of this pod. */
export interface KubernetesAccess {
  readonly url: URL
  /** The directory with `token`, `ca.crt` and `namespace`. The kubelet renews the token there. */
  readonly dir: string
}

/** An answer of the API server. */
export interface KubernetesAnswer {
  readonly status: number
  readonly json: unknown
}

/** A request for the API server. */
interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: object
  readonly signal: AbortSignal
}

/**
 * Returns the access of this pod, from the variables that the kubelet sets. Throws if this process
 * is in no pod.
 */
export function accessOf(
  env: Readonly<Record<string, string | undefined>>,
  dir: string = serviceAccountDir,
): KubernetesAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (host === undefined)
    throw new Error('HOLT_KUBERNETES is set, but this process is in no pod: KUBERNETES_SERVICE_HOST is not there')
  return { url: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`), dir }
}

/** The API server of the cluster, as the service account of this pod. */
export class KubernetesApi {
  readonly #access: KubernetesAccess

  constructor(access: KubernetesAccess) {
    this.#access = access
  }

  /** Returns the namespace of this pod. */
  async namespace(): Promise<string> {
    return (await this.#read('namespace')).trim()
  }

  /** Sends a request, and returns the answer with any status. Rejects if there is none. */
  async ask(method: Sent['method'], path: string, body?: object): Promise<KubernetesAnswer> {
    const signal = AbortSignal.timeout(requestMs)
    const response = await this.#send({ method, path, signal, ...(body === undefined ? {} : { body }) })
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk
      if (text.length > answerMax) throw new Error(`the API server's answer to ${method} ${path} is too long`)
    }
    return { status: response.statusCode ?? 0, json: parsed(text) }
  }

  /**
   * Yields the events of a watch until the API server ends it, which it does after some minutes.
   * Rejects if the watch is refused.
   */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<unknown> {
    const response = await this.#send({ method: 'GET', path, signal })
    if (response.statusCode !== 200) {
      response.destroy()
      throw new Error(`the API server refuses the watch ${path} with ${response.statusCode}`)
    }
    for await (const line of createInterface({ input: response })) {
      if (line.length > answerMax) throw new Error(`an event of the watch ${path} is too long`)
      if (line !== '') yield JSON.parse(line)
    }
  }

  async #send({ method, path, body, signal }: Sent): Promise<IncomingMessage> {
    const { url } = this.#access
    const secure = url.protocol === 'https:'
    const [token, ca] = await Promise.all([this.#read('token'), secure ? this.#read('ca.crt') : ''])
    const text = body === undefined ? null : JSON.stringify(body)
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${token.trim()}`,
      ...(text === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    }
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const options = { method, headers, signal, agent: false } as const
    const request = secure
      ? requestHttps(new URL(path, url), { ...options, ca })
      : requestHttp(new URL(path, url), options)
    request.once('response', resolve).once('error', reject)
    request.end(text ?? undefined)
    return promise
  }

  #read(name: string): Promise<string> {
    return readFile(`${this.#access.dir}/${name}`, 'utf8')
  }
}

/** Returns a body as JSON; null: it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // A proxy before the API server answers in another format. The status decides.
  }
}
