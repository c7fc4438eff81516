// The certificate library finds its parts by reflection metadata, which must be loaded before it.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { PemConverter } from '@peculiar/x509'

/** A certificate and its private key, in PEM. */
export interface CertifiedKey {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** The algorithm of every key: ECDSA over P-256. */
export const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** Returns a private key as PKCS #8 in PEM (RFC 7468, 10). */
export async function pemOfPrivateKey(key: webcrypto.CryptoKey): Promise<string> {
  return `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}
