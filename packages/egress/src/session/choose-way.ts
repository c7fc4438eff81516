import type { Readable } from 'node:stream'
import type { AttachedSecret } from '../contract/gateway-contract.ts'
import { RefusedConnection } from '../contract/terminator.ts'
import type { Plan } from '../policy/decide.ts'
import { peek } from '../streams/peek.ts'
import type { ClientHello } from '../tls/client-hello.ts'
import { lookAtOpening, type Opening, refuseHello } from './check-hello.ts'
import { blindWay, type Way, wayOf } from './ways.ts'

/**
 * The time for the first bytes, in milliseconds. Clients of TLS and HTTP speak first, though some
 * open a connection before they need it.
 */
const firstBytesTimeoutMs = 60_000

/**
 * A connection whose way is not chosen yet. The policy and secrets may change meanwhile, so they
 * are read each time.
 */
export interface UndecidedConnection {
  readonly stream: Readable
  /** The name of the target. Null for an address. */
  readonly name: string | null
  readonly signal: AbortSignal
  /**
   * Returns the present plan. Throws a `RefusedConnection` if no rule allows the connection any
   * more.
   */
  plan(): Plan
  secrets(): readonly AttachedSecret[]
}

/**
 * Chooses the way of a connection, by its first bytes if the rules need them. Throws a
 * `RefusedConnection` if no rule allows those bytes.
 */
export async function chooseWay(connection: UndecidedConnection): Promise<{ way: Way; hello: ClientHello | null }> {
  const before = connection.plan()
  const blind = blindWay(before, connection.secrets())
  if (blind !== null) return { way: blind, hello: null }
  const opening: Opening = before.tls.length === 0 ? { type: 'other' } : await readOpening(connection)
  const plan = connection.plan()
  const hello = opening.type === 'tls' ? opening.hello : null
  const wrong = hello === null ? null : refuseHello(hello, connection.name)
  if (opening.type !== 'bad_tls' && wrong === null) {
    const way = wayOf(plan, connection.secrets(), opening.type)
    if (way !== null) return { way, hello }
  }
  const [unread] = plan.tcp
  if (unread === undefined) throw new RefusedConnection(wrong ?? 'protocol_mismatch')
  return { way: { type: 'tcp', rule: unread }, hello: null }
}

async function readOpening({ stream, signal }: UndecidedConnection): Promise<Opening> {
  const seen = await peek(stream, { timeoutMs: firstBytesTimeoutMs, signal }, lookAtOpening)
  if (seen.type === 'enough') return seen.value
  throw new RefusedConnection('protocol_mismatch')
}
