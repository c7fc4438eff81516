import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
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
import { type CertifiedKey, ecdsa, pemOfPrivateKey } from './private-key-pem.ts'

/** The maximum number of characters of a common name (RFC 5280, appendix A.1). */
const commonNameMax = 64

/** The facts of a new certificate. */
export interface LeafOptions {
  /** The DNS names, at least one. The first is also the common name, if it is short enough. */
  readonly names: readonly [string, ...string[]]
  /** The time by which the certificate is backdated, for clocks that are behind. */
  readonly backdatedMs: number
  readonly validMs: number
  /** True for a certificate that also proves a client. Default: it proves a server only. */
  readonly isAlsoForClients?: boolean
}

/**
 * Makes a server certificate that an authority signs. The result contains the certificate alone,
 * without the authority's.
 */
export async function signLeaf(authority: CertifiedKey, options: LeafOptions): Promise<CertifiedKey> {
  const { publicKey, privateKey } = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  return {
    certificatePem: await certify(authority, publicKey, options),
    privateKeyPem: await pemOfPrivateKey(privateKey),
  }
}

/**
 * Signs a certificate for a public key: SPKI of ECDSA over P-256 in DER. Returns it in PEM. Throws
 * if the key has another form. The caller checks that the subject has the private key.
 */
export async function signPublicKey(authority: CertifiedKey, spki: Uint8Array, options: LeafOptions): Promise<string> {
  return certify(authority, await webcrypto.subtle.importKey('spki', spki, ecdsa, true, ['verify']), options)
}

async function certify(
  authority: CertifiedKey,
  publicKey: webcrypto.CryptoKey,
  { names, backdatedMs, validMs, isAlsoForClients = false }: LeafOptions,
): Promise<string> {
  const issuer = new X509Certificate(authority.certificatePem)
  const signingKey = await importKey(authority.privateKeyPem)
  const now = Date.now()
  const [first] = names
  const certificate = await X509CertificateGenerator.create({
    serialNumber: positiveSerial(),
    subject: first.length <= commonNameMax ? [{ CN: [first] }] : [{ O: ['Holt'] }],
    issuer: issuer.subject,
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + validMs),
    publicKey,
    signingKey,
    signingAlgorithm: ecdsa,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        ExtendedKeyUsage.serverAuth,
        ...(isAlsoForClients ? [ExtendedKeyUsage.clientAuth] : []),
      ]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), ecdsa, false, ['sign'])
}

/** Returns a random serial number, positive as RFC 5280, 4.1.2.2 requires. */
function positiveSerial(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}
