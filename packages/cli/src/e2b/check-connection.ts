import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import type { ClientSettings } from './client-settings.ts'
import { codeOf, type Finding, reasonOf } from './finding.ts'

/** The time for an answer, in milliseconds. */
const answerTimeoutMs = 10_000

const untrusted =
  /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER_CERT(?:_LOCALLY)?|VERIFY_LEAF_SIGNATURE))$/

/** Checks the names, the trust and the key of the clients, up to the first that fails. */
export async function checkConnection(
  settings: ClientSettings,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const check of [
    () => checkNames(settings),
    () => checkAnswer(settings),
    () => checkPythonTrust(settings, env),
    () => checkKey(settings),
  ]) {
    findings.push(...(await check()))
    if (findings.some(({ status }) => status === 'fix')) break
  }
  return findings
}

/** Checks that this system resolves the names of domain mode. */
async function checkNames({ domain }: ClientSettings): Promise<readonly Finding[]> {
  if (domain === null) return []
  const [name = domain] = domain.split(':')
  for (const host of [`api.${name}`, `49983-rt0.${name}`]) {
    try {
      await lookup(host)
    } catch (error) {
      const remedy = /(?:^|\.)localhost$/.test(name)
        ? 'this system does not answer names below localhost. Install libnss-myhostname, or choose a domain with a wildcard entry'
        : `add a wildcard entry to your DNS: *.${name}`
      return [{ name: 'names', status: 'fix', message: `${host} is not found (${codeOf(error)}): ${remedy}` }]
    }
  }
  return [{ name: 'names', status: 'ok', message: `api.${name} and the names of sandboxes are found` }]
}

/** Checks that the service answers, and that Node trusts its certificate. */
async function checkAnswer({ apiUrl }: ClientSettings): Promise<readonly Finding[]> {
  try {
    const { status } = await fetch(`${apiUrl}/health`, { signal: AbortSignal.timeout(answerTimeoutMs) })
    if (status === 204) return [{ name: 'service', status: 'ok', message: `${apiUrl} takes clients of E2B` }]
    const message = `${apiUrl} answers, but not as E2B (status ${status}). Start the service with HOLT_E2B=on: holt up --e2b`
    return [{ name: 'service', status: 'fix', message }]
  } catch (error) {
    const code = codeOf(error)
    const fix = (message: string): readonly Finding[] => [{ name: 'service', status: 'fix', message }]
    if (untrusted.test(code))
      return fix(
        'Node does not trust the certificate. Set NODE_EXTRA_CA_CERTS to the file that holt e2b certificate prints',
      )
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return fix(
        `the certificate is for other names. Make one: holt e2b certificate --domain DOMAIN (${reasonOf(error)})`,
      )
    return fix(`${apiUrl} does not answer: ${reasonOf(error)}. Is the service running, and is the port right?`)
  }
}

/** Checks the file from which Python's clients take all authorities that they trust. */
async function checkPythonTrust(
  { domain, apiUrl }: ClientSettings,
  { SSL_CERT_FILE: file = '' }: Readonly<Record<string, string | undefined>>,
): Promise<readonly Finding[]> {
  if (domain === null) return []
  const name = 'trust of Python'
  if (file === '')
    return [{ name, status: 'note', message: 'SSL_CERT_FILE is not set: Python trusts only what the system does' }]
  try {
    const ca = await readFile(file)
    await new Promise<void>((resolve, reject) => {
      const outgoing = request(`${apiUrl}/health`, { ca, agent: false, timeout: answerTimeoutMs }, (answer) => {
        answer.resume()
        resolve()
      })
      outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in time')))
      outgoing.once('error', reject).end()
    })
    return [{ name, status: 'ok', message: `${file} trusts the service` }]
  } catch (error) {
    const message = `${file} (SSL_CERT_FILE) does not trust the service: ${reasonOf(error)}. Set it to the bundle that holt e2b certificate prints`
    return [{ name, status: 'fix', message }]
  }
}

/** Checks that the service accepts the key. */
async function checkKey({ apiUrl, key }: ClientSettings): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(answerTimeoutMs)
  const { status } = await fetch(`${apiUrl}/v2/sandboxes?limit=1`, { headers: { 'X-API-KEY': key }, signal })
  if (status === 200) return [{ name: 'key', status: 'ok', message: 'the service accepts it' }]
  const message =
    status === 401
      ? 'the service does not accept E2B_API_KEY. Make one: holt e2b env'
      : `listing sandboxes answers ${status}: the key needs the scopes runtime:read and runtime:write`
  return [{ name: 'key', status: 'fix', message }]
}
