import { createSecureContext, type SecureContext } from 'node:tls'
import { signLeaf } from '../../ca/sign-leaf.ts'
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
/**
 * The maximum number of leaves. A runtime that asks for many names costs signatures, but bounded
 * memory.
 */
const leavesMax = 1000

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
  const leaf = await signLeaf(ca, { names: [name], backdatedMs, validMs })
  return createSecureContext({
    cert: `${leaf.certificatePem}${ca.certificatePem}`,
    key: leaf.privateKeyPem,
    minVersion: 'TLSv1.2',
  })
}
