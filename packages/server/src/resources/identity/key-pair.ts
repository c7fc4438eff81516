import type { SigningAlgorithm } from '@holt/protocol'
import { calculateJwkThumbprint, exportJWK, generateKeyPair as generate, type JWK } from 'jose'

/** Returns a new key pair as JWKs. Its id is the thumbprint of the public half (RFC 7638). */
export async function generateKeyPair(
  algorithm: SigningAlgorithm,
): Promise<{ readonly kid: string; readonly privateJwk: JWK; readonly publicJwk: JWK }> {
  const { privateKey, publicKey } = await generate(algorithm, { extractable: true, modulusLength: 2048 })
  const [privateJwk, publicJwk] = await Promise.all([exportJWK(privateKey), exportJWK(publicKey)])
  return { kid: await calculateJwkThumbprint(publicJwk), privateJwk, publicJwk }
}
