import type { AttachClientFrame, AttachServerFrame } from '@holt/protocol'
import type { WebSocketLike } from '../../src/index.ts'

/** One WebSocket as the service would see it. */
export class FakeWebSocket implements WebSocketLike {
  binaryType = 'blob'
  onopen: ((event: never) => void) | null = null
  onmessage: ((event: never) => void) | null = null
  onclose: ((event: never) => void) | null = null
  onerror: ((event: never) => void) | null = null
  readonly url: URL
  readonly protocols: readonly string[]
  readonly frames: AttachClientFrame[] = []
  /** The input. */
  input = Buffer.alloc(0)
  isClosed = false

  constructor(url: string, protocols: readonly string[]) {
    this.url = new URL(url)
    this.protocols = protocols
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    if (typeof data === 'string') this.frames.push(JSON.parse(data))
    else this.input = Buffer.concat([this.input, data])
  }

  close(code = 1005): void {
    this.break(code)
  }

  open(...frames: AttachServerFrame[]): void {
    this.onopen?.({} as never)
    this.tell(...frames)
  }

  tell(...frames: AttachServerFrame[]): void {
    for (const frame of frames) this.onmessage?.({ data: JSON.stringify(frame) } as never)
  }

  show(text: string): void {
    const bytes = new TextEncoder().encode(text)
    this.onmessage?.({ data: bytes.buffer } as never)
  }

  break(code = 1006): void {
    if (this.isClosed) return
    this.isClosed = true
    this.onerror?.({} as never)
    this.onclose?.({ code, reason: '' } as never)
  }
}

/**
 * A class of WebSockets that a test plays the service for: each that is made goes to `onSocket`, in
 * its order.
 */
export function fakeWebSockets(onSocket: (socket: FakeWebSocket, index: number) => void) {
  const sockets: FakeWebSocket[] = []
  const WebSocket = class extends FakeWebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols)
      const index = sockets.push(this) - 1
      setImmediate(() => onSocket(this, index))
    }
  }
  return { sockets, WebSocket }
}
