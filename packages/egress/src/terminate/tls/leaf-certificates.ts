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
import type { RuntimeCa } from '../../contract/gateway-contract.ts'

const hourMs = 60 * 60 * 1000
const validMs = 7 * 24 * hourMs
/**
 * The time by which a certificate is backdated, in milliseconds. A runtime's clock may be behind
 * the host's.
 */
const backdatedMs = 24 * hourMs
/** The time before its end at which a leaf is replaced, in milliseconds. */
const marginMs = 24 * hourMs
/** The most leaves. A runtime that asks for many names costs signatures, but bounded memory. */
const leavesMax = 1000
/** The most characters of a common name (RFC 5280, appendix A.1). */
const commonNameMax = 64

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

interface Leaf {
  readonly until: number
  readonly context: Promise<SecureContext>
}

/**
 * The server certificates for names inside runtimes. Each runtime's own authority signs them at the
 * first request for a name.
 */
export class LeafCertificates {
  readonly #leaves = new Map<string, Leaf>()

  /**
   * Returns the context of TLS towards a runtime for a name. If there are too many, the least
   * recently used one is removed.
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
    context.catch(() => this.#leaves.delete(key)) // The waiting callers get the error. The next call tries again.
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

/** Returns a random serial number, positive as RFC 5280, 4.1.2.2 requires. */
function positiveSerial(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}
