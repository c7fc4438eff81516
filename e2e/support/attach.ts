import { AttachServerFrame, attachKeyPrefix, attachProtocol } from '@holt/protocol'
import { service } from './facts.ts'

/**
 * A WebSocket to a command, as a browser would have it. The bytes are counted as the contract says.
 */
export class TestAttachment implements Disposable {
  readonly frames: AttachServerFrame[] = []
  readonly closed: Promise<number>
  output = Buffer.alloc(0)
  cursor = 0
  readonly #ws: WebSocket

  constructor(path: string, query: Readonly<Record<string, string | number | boolean>> = {}) {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]),
    )
    const protocols = [attachProtocol, `${attachKeyPrefix}${service.key}`]
    this.#ws = new WebSocket(`${service.url.replace(/^http/, 'ws')}${path}/attach?${search}`, protocols)
    this.#ws.binaryType = 'arraybuffer'
    this.#ws.onmessage = ({ data }) => this.#receive(data)
    this.closed = new Promise((resolve) => {
      this.#ws.onclose = ({ code }) => resolve(code)
    })
  }

  /** The output of the terminal so far. */
  get text(): string {
    return this.output.toString()
  }

  last<Type extends AttachServerFrame['type']>(type: Type): Extract<AttachServerFrame, { type: Type }> | undefined {
    return this.frames.findLast((frame) => frame.type === type) as
      | Extract<AttachServerFrame, { type: Type }>
      | undefined
  }

  type(text: string): void {
    this.#send(Buffer.from(text))
  }

  say(frame: object): void {
    this.#send(JSON.stringify(frame))
  }

  close(): void {
    this.#ws.close()
  }

  [Symbol.dispose](): void {
    this.#ws.close()
  }

  /** Sends as soon as it is open. */
  #send(data: string | Buffer<ArrayBuffer>): void {
    if (this.#ws.readyState === WebSocket.CONNECTING) this.#ws.addEventListener('open', () => this.#ws.send(data))
    else this.#ws.send(data)
  }

  #receive(data: string | ArrayBuffer): void {
    if (typeof data !== 'string') {
      this.output = Buffer.concat([this.output, Buffer.from(data)])
      this.cursor += data.byteLength
      return
    }
    const frame = AttachServerFrame.parse(JSON.parse(data))
    this.frames.push(frame)
    if (frame.type === 'start' || frame.type === 'dropped') this.cursor = frame.cursor
    else if ('cursor' in frame && frame.cursor !== this.cursor) this.#ws.close(4000, 'the cursors do not follow')
  }
}
