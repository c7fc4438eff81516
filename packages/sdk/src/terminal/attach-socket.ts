import { type AttachClientInput, attachKeyPrefix, attachProtocol } from '@holt/protocol'
import { HoltApiError, HoltConnectionError, HoltError } from '../errors.ts'
import type { Transport } from '../transport.ts'

/**
 * As much of a WebSocket (WHATWG) as an attachment needs: the one of browsers, of Node 22 and
 * newer, or of the package `ws`.
 */
export interface WebSocketLike {
  binaryType: string
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

/** What makes one. */
export type WebSocketClass = new (url: string, protocols: string[]) => WebSocketLike

/** Where an attachment goes, and how. */
export interface AttachTarget {
  readonly params: { readonly runtime_id: string; readonly command_id: string }
  readonly query: Readonly<Record<string, string | number | boolean>>
}

/**
 * What is heard of an attachment, in this order: `opened`, frames and bytes, `closed`. Of one that
 * does not open, nothing.
 */
export interface AttachListener {
  opened(socket: AttachSocket): void
  /** A text frame: JSON of an `AttachServerFrame`. */
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
   * Sends bytes of input, or a frame. What a connection that is closing no longer sends, nobody
   * acknowledges.
   */
  send(frame: AttachClientInput | Uint8Array<ArrayBuffer>): void {
    this.#ws.send(frame instanceof Uint8Array ? frame : JSON.stringify(frame))
  }

  close(): void {
    this.#ws.close(1000)
  }
}

/**
 * Opens an attachment. A WebSocket does not say why it was refused, so the same request is then
 * sent without the upgrade: what that answers is thrown.
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
    ws.onerror = () => {} // What went wrong is told by the close that follows.
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

/** What the service answers to the same request without an upgrade. */
async function whyNot(transport: Transport, { params, query }: AttachTarget, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await transport.open('attachCommand', { params, query, signal })
    await response.body?.cancel()
  } catch (error) {
    if (!(error instanceof HoltApiError) || error.wireCode !== 'upgrade_required') return error
  }
  return new HoltConnectionError(
    'lost',
    `${transport.options.url} answers, but a WebSocket to it does not open: is there a proxy between?`,
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

/** A browser's WebSocket has no headers: the key goes with the subprotocols. */
function protocolsOf({ options }: Transport): string[] {
  return [attachProtocol, ...(options.apiKey === undefined ? [] : [`${attachKeyPrefix}${options.apiKey}`])]
}
