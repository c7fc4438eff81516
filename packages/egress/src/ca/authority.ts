// The certificate library finds its parts by reflection metadata, which must be loaded before it.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509'
import {
  BasicConstraintsExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { type CertifiedKey, ecdsa, pemOfPrivateKey } from './private-key-pem.ts'

/** The facts of a new authority. */
export interface AuthorityOptions {
  /**
   * The subject, for people who read a certificate: letters, digits, spaces, `-`, `_` and `.`, at
   * most 64.
   */
  readonly name: string
  /** The time by which the certificate is backdated, for clocks that are behind. */
  readonly backdatedMs: number
  readonly validMs: number
  /**
   * The only domain that the authority can certify, with all names below it (RFC 5280, 4.2.1.10).
   * IP addresses are excluded then. Null: no limit.
   */
  readonly onlyBelow: string | null
}

/** Makes a certificate authority: P-256, self-signed, no authority below it. */
export async function makeAuthority(options: AuthorityOptions): Promise<CertifiedKey> {
  const { name, backdatedMs, validMs, onlyBelow } = options
  if (!/^[\w .-]{1,64}$/.test(name)) throw new Error(`not a name for a certificate authority: ${JSON.stringify(name)}`)
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const now = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }, { O: ['Holt'] }],
    notBefore: new Date(now - backdatedMs),
    notAfter: new Date(now + validMs),
    keys,
    signingAlgorithm: ecdsa,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...(onlyBelow === null ? [] : [constraints(onlyBelow)]),
    ],
  })
  return {
    certificatePem: `${certificate.toString('pem')}\n`,
    privateKeyPem: await pemOfPrivateKey(keys.privateKey),
  }
}

/** Returns the extension that limits an authority to a domain. It also excludes all addresses. */
function constraints(domain: string): Extension {
  const subtree = (base: Partial<GeneralName>) => new GeneralSubtree({ base: new GeneralName(base) })
  const limits = new NameConstraints({
    permittedSubtrees: new GeneralSubtrees([subtree({ dNSName: domain })]),
    excludedSubtrees: new GeneralSubtrees([subtree({ iPAddress: '0.0.0.0/0' }), subtree({ iPAddress: '::/0' })]),
  })
  return new Extension(id_ce_nameConstraints, true, AsnConvert.serialize(limits))
}
