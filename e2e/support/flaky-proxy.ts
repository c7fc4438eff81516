import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { service } from './facts.ts'

/** The fate of a request: answered, cut off half-way, or done with its answer lost. */
type Fate = 'answered' | 'cut' | 'lost'

/** Requests to the service over connections that break, some of them, where the path matches. */
export class FlakyProxy implements AsyncDisposable {
  readonly fates: Record<Fate, number> = { answered: 0, cut: 0, lost: 0 }
  readonly #pattern: RegExp
  readonly #server = createServer((incoming, outgoing) => {
    void this.#pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  #next = 0

  constructor(pattern: RegExp) {
    this.#pattern = pattern
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const fate = this.#pattern.test(incoming.url ?? '') ? this.#fate() : 'answered'
    const body = await buffer(incoming)
    const { hostname, port } = new URL(service.url)
    const { method, url: path, headers } = incoming
    const onward = request({ hostname, port, method, path, headers, agent: false })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    if (fate === 'cut') {
      onward.write(body.subarray(0, body.length / 2), () => outgoing.destroy())
      return
    }
    onward.on('response', (answer) => {
      if (fate === 'lost') {
        outgoing.destroy()
        return
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(outgoing)
    })
    onward.end(body)
  }

  #fate(): Fate {
    const fate = (['answered', 'lost', 'answered', 'cut', 'lost'] as const)[this.#next++ % 5] ?? 'answered'
    this.fates[fate] += 1
    return fate
  }
}
