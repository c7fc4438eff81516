// The certificate library finds its parts by reflection metadata, which must be loaded before it.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { RuntimeCa } from '../contract/gateway-contract.ts'
import { pemOfPrivateKey } from './private-key-pem.ts'

const dayMs = 24 * 60 * 60 * 1000

/**
 * The validity of a certificate, in milliseconds. It is longer than any runtime lives, and short
 * enough for a key.
 */
const validMs = 3 * 365 * dayMs

/**
 * The time by which a certificate is backdated, in milliseconds. A runtime's clock may be behind
 * the host's.
 */
const backdatedMs = dayMs

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * Makes the certificate authority of one runtime (P-256, self-signed, no authority below it). Its
 * subject is `name`, for people who read a certificate inside: letters, digits, spaces, `-`, `_`
 * and `.`, at most 64.
 */
export async function makeRuntimeCa(name: string): Promise<RuntimeCa> {
  if (!/^[\w .-]{1,64}$/.test(name)) throw new Error(`not a name for a certificate authority: ${JSON.stringify(name)}`)
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const now = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }, { O: ['Holt'] }],
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + validMs),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return {
    certificatePem: `${certificate.toString('pem')}\n`,
    privateKeyPem: await pemOfPrivateKey(keys.privateKey),
  }
}
