import { X509Certificate } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type CertifiedKey, makeAuthority, signLeaf } from '@holt/egress'
import { readIfThere } from '../../foundation/config/installation.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import { systemBundle } from './system-bundle.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The time by which a certificate is backdated, for clocks that are behind, in milliseconds. */
const backdatedMs = dayMs

/** The validity of the authority. Clients trust it once, and certificates are renewed below it. */
const authorityDays = 10 * 365

/** The place of each file, and the end of the certificate. */
export interface MadeCertificate {
  readonly domain: string
  /** The server's certificate with its chain, and its key. */
  readonly certFile: string
  readonly keyFile: string
  /** The authority alone, for `NODE_EXTRA_CA_CERTS`. */
  readonly authorityFile: string
  /** The system's authorities and this one, for `SSL_CERT_FILE`. */
  readonly bundleFile: string
  readonly validUntil: Date
  readonly isNewAuthority: boolean
}

/** The domain of a certificate, its validity, and the directory of its files. */
export interface CertificateWish {
  readonly domain: string
  readonly days: number
  readonly dir: string
  readonly now: number
}

/**
 * Makes a certificate for a domain and all names below it, which an authority of this machine
 * signs. An authority that is there is used again, so clients that trust it trust the new
 * certificate. The authority can certify no other domain.
 */
export async function makeCertificate({ domain, days, dir, now }: CertificateWish): Promise<MadeCertificate> {
  const made = await mkdir(dir, { recursive: true, mode: 0o755 })
  if (made !== undefined) await chmod(dir, 0o755)
  const files = filesIn(dir)
  const found = await readAuthority(files, { domain, until: now + days * dayMs })
  const authority = found ?? (await newAuthority(domain))
  const names = [domain, `*.${domain}`] as const
  const leaf = await signLeaf(authority, { names, backdatedMs, validMs: days * dayMs })
  if (found === null) {
    await writeDurably(files.authorityKeyFile, authority.privateKeyPem)
    await writeDurably(files.authorityFile, authority.certificatePem, readableByAll)
  }
  // The key comes first: a service that reads between the two sees no pair and keeps the earlier.
  await writeDurably(files.keyFile, leaf.privateKeyPem)
  await writeDurably(files.certFile, leaf.certificatePem + authority.certificatePem, readableByAll)
  await writeDurably(files.bundleFile, `${await systemBundle()}\n${authority.certificatePem}`, readableByAll)
  const { validTo } = new X509Certificate(leaf.certificatePem)
  const { authorityKeyFile: _, ...places } = files
  return { domain, ...places, validUntil: new Date(validTo), isNewAuthority: found === null }
}

/** Certificates are public, and clients of other users read them. */
const readableByAll = 0o644

function filesIn(dir: string) {
  return {
    certFile: join(dir, 'certificate.pem'),
    keyFile: join(dir, 'key.pem'),
    authorityFile: join(dir, 'authority.pem'),
    authorityKeyFile: join(dir, 'authority-key.pem'),
    bundleFile: join(dir, 'bundle.pem'),
  }
}

function newAuthority(domain: string): Promise<CertifiedKey> {
  const name = `Holt authority for ${domain}`.slice(0, 64)
  return makeAuthority({ name, backdatedMs, validMs: authorityDays * dayMs, onlyBelow: domain })
}

/**
 * Returns the authority in a directory. Returns null if there is none, or if it ends before the
 * certificate would. Throws for an authority of another domain.
 */
async function readAuthority(
  { authorityFile, authorityKeyFile }: ReturnType<typeof filesIn>,
  { domain, until }: { domain: string; until: number },
): Promise<CertifiedKey | null> {
  const [certificatePem, privateKeyPem] = await Promise.all([readIfThere(authorityFile), readIfThere(authorityKeyFile)])
  if (certificatePem === null || privateKeyPem === null) return null
  const { subject, validTo } = new X509Certificate(certificatePem)
  if (!subject.split('\n').includes(`CN=${`Holt authority for ${domain}`.slice(0, 64)}`))
    throw new Error(`${authorityFile} is the authority of another domain. Choose another directory: --out DIR`)
  return new Date(validTo).getTime() < until ? null : { certificatePem, privateKeyPem }
}
