import { get, remove } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { type GuestSession, GuestSessions } from './session-schemas.ts'

/** The shell sessions of a runtime. A command with a session's name starts it. */
export class SessionClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  async list(signal: AbortSignal): Promise<readonly GuestSession[]> {
    return (await this.#sender.ask(get('/v1/sessions', signal), GuestSessions)).sessions
  }

  /** Ends a session. Resolves when none of its processes is left. */
  end(name: string, signal: AbortSignal): Promise<void> {
    return this.#sender.tell(remove(`/v1/sessions/${encodeURIComponent(name)}`, signal))
  }
}
