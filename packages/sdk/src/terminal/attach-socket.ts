import { type AttachClientInput, attachKeyPrefix, attachProtocol } from '@holt/protocol'
import { HoltApiError, HoltConnectionError, HoltError } from '../errors/errors.ts'
import type { Transport } from '../transport/transport.ts'
import type { WebSocketClass, WebSocketLike } from '../transport/web-socket.ts'

/** The destination and the options of an attachment. */
export interface AttachTarget {
  readonly params: { readonly runtime_id: string; readonly command_id: string }
  readonly query: Readonly<Record<string, string | number | boolean>>
}

/**
 * The callbacks of an attachment, in this order: `opened`, frames and bytes, `closed`. An
 * attachment that does not open calls none of them.
 */
export interface AttachListener {
  opened(socket: AttachSocket): void
  /** Receives a text frame: JSON of an `AttachServerFrame`. */
  frame(text: string): void
  bytes(bytes: Uint8Array<ArrayBuffer>): void
  closed(code: number, reason: string): void
}

/** One WebSocket to a command. */
export class AttachSocket {
  readonly #ws: WebSocketLike
  constructor(ws: WebSocketLike) {
    this.#ws = ws
  }

  /**
   * Sends bytes of input, or a frame. On a connection that is closing, data can be lost and is then
   * not acknowledged.
   */
  send(frame: AttachClientInput | Uint8Array<ArrayBuffer>): void {
    this.#ws.send(frame instanceof Uint8Array ? frame : JSON.stringify(frame))
  }

  close(): void {
    this.#ws.close(1000)
  }
}

/**
 * Opens an attachment. A WebSocket does not report why it was refused. The same request is then
 * sent without the upgrade, and its error is thrown.
 */
export async function openAttachSocket(
  transport: Transport,
  { target, listener, signal }: { target: AttachTarget; listener: AttachListener; signal: AbortSignal },
): Promise<void> {
  const ws = new (webSocketOf(transport))(addressOf(transport, target), protocolsOf(transport))
  ws.binaryType = 'arraybuffer'
  const leave = () => ws.close()
  signal.addEventListener('abort', leave, { once: true })
  const opened = await new Promise<boolean>((resolve) => {
    let isOpen = false
    ws.onerror = () => {} // The close that follows has the reason.
    ws.onopen = () => {
      isOpen = true
      listener.opened(new AttachSocket(ws))
      resolve(true)
    }
    ws.onmessage = ({ data }: { data: string | ArrayBuffer }) => {
      if (typeof data === 'string') listener.frame(data)
      else listener.bytes(new Uint8Array(data))
    }
    ws.onclose = ({ code, reason }: { code: number; reason: string }) => {
      signal.removeEventListener('abort', leave)
      if (isOpen) listener.closed(code, reason)
      resolve(false)
    }
  })
  if (opened) return
  signal.throwIfAborted()
  throw await whyNot(transport, target, signal)
}

/** Returns the error of the same request without an upgrade. */
async function whyNot(transport: Transport, { params, query }: AttachTarget, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await transport.open('attachCommand', { params, query, signal })
    await response.body?.cancel()
  } catch (error) {
    if (!(error instanceof HoltApiError) || error.wireCode !== 'upgrade_required') return error
  }
  return new HoltConnectionError(
    'lost',
    `${transport.options.url} answers, but a WebSocket to it does not open. Check for a proxy in between`,
  )
}

function webSocketOf({ options }: Transport): WebSocketClass {
  const known = options.webSocket ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket
  if (known !== undefined) return known
  throw new HoltError('not_supported_here', 'This JavaScript has no WebSocket, which a terminal needs.', {
    hint: "Use Node 22 or newer, or pass one: new Holt({ webSocket }), for example the package ws's WebSocket.",
  })
}

function addressOf(transport: Transport, { params, query }: AttachTarget): string {
  const url = transport.addressOf('attachCommand', { params, query })
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

/** Returns the subprotocols, which include the key. A browser's WebSocket has no headers. */
function protocolsOf({ options }: Transport): string[] {
  return [attachProtocol, ...(options.apiKey === undefined ? [] : [`${attachKeyPrefix}${options.apiKey}`])]
}
