import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { pemOfPrivateKey } from '../../ca/private-key-pem.ts'
import type { RuntimeCa } from '../../contract.ts'

const hourMs = 60 * 60 * 1000
const validMs = 7 * 24 * hourMs
/** A runtime's clock may be behind the host's. */
const backdatedMs = 24 * hourMs
/** A leaf is replaced this long before it ends. */
const marginMs = 24 * hourMs
/** One runtime that asks for many names costs signatures, not memory without end. */
const leavesMax = 1000
/** A common name has at most 64 characters (RFC 5280, appendix A.1). */
const commonNameMax = 64

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

interface Leaf {
  readonly until: number
  readonly context: Promise<SecureContext>
}

/**
 * The server certificates that stand for names inside runtimes, signed by each runtime's own
 * authority when a name is first asked for.
 */
export class LeafCertificates {
  readonly #leaves = new Map<string, Leaf>()

  /**
   * What TLS towards a runtime is served with for a name. The least recently used one gives way
   * when there are too many.
   */
  get(ca: RuntimeCa, name: string): Promise<SecureContext> {
    const key = `${name}\n${ca.certificatePem}`
    const known = this.#leaves.get(key)
    this.#leaves.delete(key)
    const leaf = known !== undefined && known.until > Date.now() ? known : this.#make(ca, name, key)
    this.#leaves.set(key, leaf)
    const [oldest] = this.#leaves.keys()
    if (this.#leaves.size > leavesMax && oldest !== undefined) this.#leaves.delete(oldest)
    return leaf.context
  }

  #make(ca: RuntimeCa, name: string, key: string): Leaf {
    const context = makeLeaf(ca, name)
    context.catch(() => this.#leaves.delete(key)) // Whoever waits for it sees the failure; the next one tries again.
    return { until: Date.now() + validMs - marginMs, context }
  }
}

async function makeLeaf(ca: RuntimeCa, name: string): Promise<SecureContext> {
  const issuer = new X509Certificate(ca.certificatePem)
  const signingKey = await importKey(ca.privateKeyPem)
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const now = Date.now()
  const certificate = await X509CertificateGenerator.create({
    serialNumber: positiveSerial(),
    subject: name.length <= commonNameMax ? [{ CN: [name] }] : [{ O: ['Holt'] }],
    issuer: issuer.subject,
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + validMs),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  return createSecureContext({
    cert: `${certificate.toString('pem')}\n${ca.certificatePem}`,
    key: await pemOfPrivateKey(keys.privateKey),
    minVersion: 'TLSv1.2',
  })
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), algorithm, false, ['sign'])
}

/** A random serial number, positive as RFC 5280, 4.1.2.2 wants it. */
function positiveSerial(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}
