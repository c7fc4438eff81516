import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { makeRuntimeCa, type RuntimeCa } from '../../src/index.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** A certificate and its key, as TLS servers take them. */
export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

/** An authority for tests, which signs certificates for any names. */
export async function makeTestCa(): Promise<RuntimeCa> {
  return makeRuntimeCa('test authority')
}

/** A certificate of the authority for names or addresses. */
export async function issue(ca: RuntimeCa, ...names: readonly string[]): Promise<TestCertificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const [pkcs8] = PemConverter.decode(ca.privateKeyPem)
  if (pkcs8 === undefined) throw new Error('the authority has no key')
  const signingKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign'])
  const issuer = new X509Certificate(ca.certificatePem)
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [names[0] ?? 'test'] }],
    issuer: issuer.subjectName,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(false),
      // Strict clients (Python since 3.13) want it.
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
      ),
    ],
  })
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: certificate.toString('pem'), key }
}
