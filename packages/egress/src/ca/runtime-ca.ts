import type { RuntimeCa } from '../contract/gateway-contract.ts'
import { makeAuthority } from './authority.ts'

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

/**
 * Makes the certificate authority of one runtime. Its subject is `name`, for people who read a
 * certificate inside.
 */
export function makeRuntimeCa(name: string): Promise<RuntimeCa> {
  return makeAuthority({ name, backdatedMs, validMs, onlyBelow: null })
}
