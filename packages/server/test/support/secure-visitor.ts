import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ConnectionOptions } from 'node:tls'
import { onTestFinished } from 'vitest'
import { type MadeCertificate, makeCertificate } from '../../src/daemon/certificate/make-certificate.ts'

/** The domain of the tests' certificates. */
export const secureDomain = 'holt.localhost'

/** Makes a certificate in a directory of the test. */
export async function newCertificate(domain = secureDomain): Promise<MadeCertificate & { readonly dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-tls-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return { ...(await makeCertificate({ domain, days: 30, dir, now: Date.now() })), dir }
}

/** A request over TLS, as a client sends it. */
export interface SecureRequest {
  readonly port: number
  /** The server name of the handshake, and the Host unless `host` says otherwise. Null: none. */
  readonly servername: string | null
  readonly host?: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly tls?: ConnectionOptions
}

/** The answer. */
export interface SecureAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Asks over TLS on a new connection, which trusts the given authority alone. */
export async function askSecurely(
  { authorityFile }: Pick<MadeCertificate, 'authorityFile'>,
  { port, servername, host, path = '/', method = 'GET', headers = {}, tls = {} }: SecureRequest,
): Promise<SecureAnswer> {
  const ca = await readFile(authorityFile)
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      ca,
      servername: servername ?? '',
      headers: { host: host ?? `${servername}:${port}`, ...headers },
      ...(servername === null ? { checkServerIdentity: () => undefined } : {}),
      ...tls,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (answer) => {
      const { headers, statusCode: status = 0 } = answer
      text(answer).then((body) => resolve({ status, headers, text: body }), reject)
    })
    outgoing.end()
  })
}
