import { PassThrough } from 'node:stream'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { get } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { GuestPort, GuestPorts } from './port-schemas.ts'
import { PortStream } from './port-stream.ts'

/** The ports on which programs of a runtime listen. */
export class PortClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /** Returns the ports on which programs listen, in order. */
  async list(signal: AbortSignal): Promise<readonly number[]> {
    return (await this.#sender.ask(get('/v1/ports', signal), GuestPorts)).ports
  }

  /** Returns true if a program listens on a port, after waiting up to `waitMs`. */
  async wait(port: number, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const request = { ...get(`/v1/ports/${port}?wait_ms=${waitMs}`, signal), follows: waitMs > 0 }
    const answer = await this.#sender.ask(request, GuestPort)
    if (answer.port !== port) throw answeredWrongly('another port than the requested one')
    return answer.listening
  }

  /**
   * Opens a connection to a port. Rejects with `port_not_listening` if no program listens. Aborting
   * the signal resets the connection. With `idles`, it may wait without being a use of the runtime.
   */
  async connect(
    port: number,
    { signal, idles = false }: { readonly signal: AbortSignal; readonly idles?: boolean },
  ): Promise<PortStream> {
    const outgoing = new PassThrough({ highWaterMark: 1024 * 1024 })
    outgoing.on('error', () => {
      // The answer's body, or its absence, gives the reason.
    })
    try {
      const request = { method: 'POST', path: `/v1/ports/${port}/connect`, body: outgoing, signal } as const
      const { body } = await this.#sender.open({ ...request, follows: true, idles })
      return new PortStream({ incoming: body, outgoing })
    } catch (error) {
      outgoing.destroy()
      throw error
    }
  }
}
