import { X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { readCertificate } from '../../api/tls/certificate-files.ts'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { TlsConfig } from '../../foundation/config/tls-settings.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The time before the end of a certificate from which it should be renewed, in days. */
const renewDays = 14

/** The hosts that sandboxes reach, by the setting. */
const egressWords = {
  deny: 'sandboxes reach no host',
  request: 'sandboxes reach the hosts that their create asks for; old clients ask for the Internet with each create',
  open: 'sandboxes reach the Internet unless their create says no',
} as const

/** Checks the settings for clients of E2B. Returns no check while the entry is off. */
export async function checkE2b(
  { e2b, tls }: Pick<ServerConfig, 'e2b' | 'tls'>,
  now = Date.now(),
): Promise<readonly Check[]> {
  if (e2b === null) return []
  const egress = ok('E2B egress', `${egressWords[e2b.egress]} (HOLT_E2B_EGRESS=${e2b.egress})`)
  const domain = e2b.domain?.name ?? null
  if (tls !== null) return [egress, await checkTls(tls, domain, now)]
  const mode =
    domain === null
      ? ok('E2B mode', 'one address without TLS; names of ports and old clients need HOLT_E2B_DOMAIN')
      : warn(
          'E2B mode',
          `${domain} without TLS here: clients need a proxy with TLS, or HOLT_E2B_TLS_CERT`,
          'holt e2b certificate',
        )
  return [egress, mode]
}

async function checkTls(tls: TlsConfig, domain: string | null, now: number): Promise<Check> {
  const name = 'E2B certificate'
  const renew = `holt e2b certificate${domain === null ? '' : ` --domain ${domain}`}`
  try {
    const { cert } = await readCertificate(tls)
    const leaf = new X509Certificate(cert)
    const lost =
      domain === null ? [] : [domain, `3000-rt0.${domain}`].filter((host) => leaf.checkHost(host) === undefined)
    const days = Math.floor((new Date(leaf.validTo).getTime() - now) / dayMs)
    if (lost.length > 0) return mustFix(name, `it is not for ${lost.join(' and ')}`, renew)
    if (days < 0) return mustFix(name, 'it has ended', renew)
    if (((await stat(tls.keyFile)).mode & 0o077) !== 0)
      return mustFix(name, 'others can read its key', `chmod 600 ${tls.keyFile}`)
    if (days < renewDays) return warn(name, `it ends in ${days} days`, renew)
    return ok(name, `${domain ?? 'its names'} on port ${tls.port}, for ${days} more days`)
  } catch (error) {
    return mustFix(name, error instanceof Error ? error.message : String(error), renew)
  }
}
