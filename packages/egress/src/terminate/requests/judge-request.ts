import type { DenialReason } from '../../contract/gateway-contract.ts'
import type { ConnectionToTerminate } from '../../contract/terminator.ts'
import type { Redaction } from '../secrets/masker.ts'
import { type Field, putIn } from '../secrets/put-in.ts'
import { redactionOf, redactionsFor } from '../secrets/redact.ts'

/** A request as its program sent it, over any protocol. */
export interface InsideRequest {
  readonly method: string
  /** Path and query, or `*`. */
  readonly target: string
  /** Every authority that the request names: `Host` fields and `:authority`. */
  readonly authorities: readonly string[]
  /** End-to-end fields, without `Host`. */
  readonly fields: readonly Field[]
}

/** The decision on a request. */
export type Judgement =
  | { readonly type: 'refuse'; readonly status: number; readonly reason: DenialReason; readonly message: string }
  | {
      readonly type: 'forward'
      readonly fields: readonly Field[]
      /** The values that must not be returned to the runtime. */
      readonly redactions: readonly Redaction[]
      /** The names of the secrets that are sent with it. */
      readonly secrets: readonly string[]
    }

const method = /^[A-Z][A-Z-]{0,31}$/
/**
 * Visible ASCII without a fragment (RFC 9112, 3.2). A server might read other characters in a way
 * that no decision covers.
 */
const originForm = /^\/[\x21\x22\x24-\x7e]{0,16383}$/

/** Decides on one request, logs the decision, and inserts secrets. */
export async function judgeRequest(connection: ConnectionToTerminate, request: InsideRequest): Promise<Judgement> {
  await connection.pace()
  const [path = ''] = request.target.split('?', 1)
  const tell = (allowed: boolean, rule: string, secrets: readonly string[] = []) =>
    connection.onDecision({
      allowed,
      rule,
      method: request.method.slice(0, 32),
      path: path.slice(0, 1024),
      ...(secrets.length === 0 ? {} : { secret: secrets.join(',') }),
    })
  const refuse = (status: number, reason: DenialReason, message: string): Judgement => {
    tell(false, reason)
    return { type: 'refuse', status, reason, message }
  }
  if (!isSound(request)) return refuse(400, 'bad_http', 'The request is malformed or ambiguous.')
  if (!namesOnly(connection, request.authorities))
    return refuse(421, 'host_mismatch', `This connection is for ${connection.name} only.`)
  const verdict = connection.decide(request.method, path)
  if (!verdict.allowed)
    return refuse(403, verdict.reason, `The network policy does not allow ${request.method} ${connection.name}${path}.`)
  const secrets = connection.secrets()
  const put = await putIn(request.fields, secrets)
  if (put.type === 'unavailable')
    return refuse(403, 'secret_unavailable', `The secret ${put.secret} has no value to send.`)
  tell(true, verdict.rule, put.secrets)
  const redactions = [...put.sent.flatMap(redactionOf), ...(await redactionsFor(secrets))]
  // Encoded content cannot be searched.
  const fields = redactions.length === 0 ? put.fields : withWholeAnswers(put.fields)
  return { type: 'forward', fields, redactions, secrets: put.secrets }
}

function isSound(request: InsideRequest): boolean {
  if (!method.test(request.method) || request.method === 'CONNECT') return false
  return originForm.test(request.target) || (request.target === '*' && request.method === 'OPTIONS')
}

function namesOnly({ name, port }: ConnectionToTerminate, authorities: readonly string[]): boolean {
  const [first] = authorities
  if (first === undefined) return false
  return authorities.every((each) => [name, `${name}:${port}`].includes(each.toLowerCase()))
}

/**
 * Returns fields that ask for a searchable response: not encoded, and not in ranges that could
 * split a value.
 */
function withWholeAnswers(fields: readonly Field[]): readonly Field[] {
  const hiding = ['accept-encoding', 'sec-websocket-extensions', 'range', 'if-range']
  const kept = fields.filter(([name]) => !hiding.includes(name.toLowerCase()))
  return [...kept, ['accept-encoding', 'identity']]
}

/** Returns the body that a program inside gets for a refused request. */
export function refusalBody({ reason, message }: { reason: string; message: string }): string {
  return `${JSON.stringify({ error: { code: `egress_${reason}`, message: `Holt: ${message}` } })}\n`
}
