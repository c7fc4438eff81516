import { HoltError } from '@holt/protocol'
import type { Log } from '../../foundation/log.ts'

/** The facts about a refused question, for the log. They hold no secret. */
type Facts = Readonly<Record<string, string>>

/**
 * Logs that a host has asked for something that is not its own, and returns the error for it. An
 * honest host asks so only if a runtime has just left it, so a repeated line means an attack.
 */
export function refusedTo(log: Log, hostId: string, { message, ...facts }: Facts & { readonly message: string }) {
  log.warn({ host_id: hostId, ...facts }, `a host was refused: ${message}`)
  return new HoltError('forbidden', `The front has refused this host: ${message}.`, {
    hint: 'Send the request again. If it is refused again, see the log of the front.',
  })
}
