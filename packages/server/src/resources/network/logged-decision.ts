import { ownText } from '@holt/async'
import type { Decision } from '@holt/egress'
import type { NetworkDecision } from '@holt/protocol'
import { moment } from '../../foundation/store/moment.ts'

/** A decision in its stored form: the item of the log without its cursor. */
export type LoggedDecision = Omit<NetworkDecision, 'cursor'>

/** The maximum number of characters of texts that a runtime can choose. */
const longest = { name: 255, path: 1024, method: 20, process: 64 }

/** Returns a decision as the log keeps it: with bounded texts and every field. */
export function loggedDecision(decision: Decision): LoggedDecision {
  const { process } = decision
  return {
    type: decision.type,
    at: moment(decision.at),
    name: cut(decision.name, longest.name),
    address: decision.address,
    port: decision.port,
    allowed: decision.allowed,
    rule: decision.rule,
    method: cut(decision.method, longest.method),
    path: cut(decision.path, longest.path),
    bytes_sent: decision.bytes_sent ?? null,
    bytes_received: decision.bytes_received ?? null,
    process:
      process === null ? null : { pid: process.pid, name: cut(process.name, longest.process) ?? '', uid: process.uid },
    secret: decision.secret ?? null,
  }
}

function cut(text: string | null | undefined, length: number): string | null {
  return text == null ? null : ownText(text.slice(0, length).toWellFormed())
}
