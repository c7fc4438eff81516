import { X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { readCertificate } from '../../api/tls/certificate-files.ts'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'
import type { TlsConfig } from '../../foundation/config/tls-settings.ts'
import { type Check, mustFix, ok, warn } from './check.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The time before the end of a certificate from which it should be renewed, in days. */
const renewDays = 14

/** The hosts that sandboxes reach, by the mode of the operator. */
const reached: Readonly<Record<E2bConfig['egress'], string>> = {
  deny: 'sandboxes reach no host',
  request: 'sandboxes reach the hosts that a create or an update asks for; old clients ask for the Internet each time',
  open: 'sandboxes reach every public host, unless their create says no',
}

/** Checks the settings for clients of E2B. Returns no check while the entry is off. */
export async function checkE2b(
  { e2b, tls }: Pick<ServerConfig, 'e2b' | 'tls'>,
  now = Date.now(),
): Promise<readonly Check[]> {
  if (e2b === null) return []
  const egress = checkEgress(e2b)
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

function checkEgress({ egress, internetPolicy, publicPorts }: E2bConfig): Check {
  const policy = internetPolicy === null ? '' : `; the Internet is the policy ${internetPolicy}`
  const ports = publicPorts ? 'ports are public by default' : 'ports need a token'
  const message = `${reached[egress]} (HOLT_E2B_EGRESS=${egress})${policy}; ${ports}`
  return egress === 'open' && internetPolicy === null ? warn('E2B egress', message) : ok('E2B egress', message)
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
