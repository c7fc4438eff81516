import { rootCertificates } from 'node:tls'
import { readIfThere } from '../../foundation/config/installation.ts'

/** The files with the trusted authorities of the system: Debian, Fedora, openSUSE, Alpine. */
const bundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** Returns the authorities that the system trusts, in PEM. Without any, those of Node. */
export async function systemBundle(): Promise<string> {
  for (const file of bundles) {
    const text = await readIfThere(file)
    if (text?.includes('BEGIN CERTIFICATE') === true) return text.trimEnd()
  }
  return rootCertificates.join('\n')
}
