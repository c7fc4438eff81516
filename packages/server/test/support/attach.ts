import type { IncomingHttpHeaders } from 'node:http'
import { AttachServerFrame, attachProtocol } from '@holt/protocol'
import { onTestFinished } from 'vitest'
import { type ClientOptions, WebSocket } from 'ws'

/** The answer to a refused WebSocket. */
export interface Refused {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/**
 * An attachment as tests use it. Every frame is held against the contract, and the bytes are
 * counted as a client counts them.
 */
export class TestAttachment {
  readonly ws: WebSocket
  readonly frames: AttachServerFrame[] = []
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  output = Buffer.alloc(0)
  cursor = 0

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        this.output = Buffer.concat([this.output, data])
        this.cursor += data.length
        return
      }
      const frame = AttachServerFrame.parse(JSON.parse(String(data)))
      if (frame.type === 'start' || frame.type === 'dropped') this.cursor = frame.cursor
      if (frame.type === 'stream' || frame.type === 'exit' || frame.type === 'end') {
        if (frame.cursor !== this.cursor) ws.terminate()
      }
      this.frames.push(frame)
    })
    this.closed = new Promise((resolve) =>
      ws.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
    )
  }

  get text(): string {
    return this.output.toString()
  }

  /** The last frame of a type. */
  last<Type extends AttachServerFrame['type']>(type: Type): Extract<AttachServerFrame, { type: Type }> | undefined {
    return this.frames.findLast((frame) => frame.type === type) as
      | Extract<AttachServerFrame, { type: Type }>
      | undefined
  }

  type(text: string): void {
    this.ws.send(Buffer.from(text))
  }

  say(frame: object): void {
    this.ws.send(JSON.stringify(frame))
  }
}

/** Attaches to a command; what is refused is answered with its error. */
export async function attach(
  url: string,
  {
    key,
    headers = {},
    protocols = [attachProtocol],
    options = {},
  }: {
    readonly key?: string | null
    readonly headers?: Record<string, string>
    readonly protocols?: readonly string[]
    readonly options?: ClientOptions
  } = {},
): Promise<TestAttachment | Refused> {
  const ws = new WebSocket(url.replace(/^http/, 'ws'), [...protocols], {
    ...options,
    headers: { ...(key == null ? {} : { authorization: `Bearer ${key}` }), ...headers },
  })
  onTestFinished(() => ws.terminate())
  const attachment = new TestAttachment(ws)
  return await new Promise((resolve, reject) => {
    ws.once('open', () => resolve(attachment))
    ws.once('error', reject)
    ws.once('unexpected-response', (_, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          json: JSON.parse(String(Buffer.concat(chunks))),
        }),
      )
    })
  })
}
