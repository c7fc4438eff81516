import { Duplex, type Readable, type Writable } from 'node:stream'
import { GatheredBytes } from '@holt/async'
import { EngineError } from '@holt/engine'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { letEnd } from '../answers/let-end.ts'
import {
  dataFrame,
  endFrame,
  maxFrameDataBytes,
  PortFrameReader,
  type PortItem,
  portWindowBytes,
  windowFrame,
} from './port-frames.ts'

/** The bytes that are read before the other side gets an update of the free room. */
const windowStepBytes = portWindowBytes / 4

/**
 * A connection to a port, as frames over two streams (guest/PROTOCOL.md, Ports). Either side may
 * end first. At most a window of bytes is buffered in each direction: frames are read at once, and
 * a sender that exceeds the window is disconnected.
 */
export class PortStream extends Duplex {
  readonly #incoming: Readable
  readonly #outgoing: Writable
  readonly #frames = new PortFrameReader()
  /** Bytes received and not yet read. */
  readonly #received = new GatheredBytes()
  /** Bytes read and not yet reported to the other side. */
  #untoldBytes = 0
  #hasRoom = true
  /** Free room of the other side. */
  #roomBytes = portWindowBytes
  #unsent: { readonly bytes: Buffer; readonly done: () => void } | null = null
  #theirEnd = false
  #ourEnd = false
  /** Bytes of data that have moved in either direction. */
  movedBytes = 0

  /**
   * `incoming` has the other side's frames; ours are written to `outgoing`, which need not push
   * back.
   */
  constructor({ incoming, outgoing }: { incoming: Readable; outgoing: Writable }) {
    // Received data waits here until the reader has taken the earlier data.
    super({ allowHalfOpen: true, readableHighWaterMark: 1, writableHighWaterMark: 64 * 1024 })
    this.#incoming = incoming
    this.#outgoing = outgoing
    incoming.on('data', (part: Buffer) => this.#take(part))
    incoming.on('error', (error) => this.#fail(error))
    incoming.on('close', () => this.#fail(brokenOff()))
    incoming.on('end', () => this.#fail(brokenOff()))
    outgoing.on('error', (error) => this.#fail(error))
  }

  override _read(): void {
    this.#hasRoom = true
    this.#handOn()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (bytes.length === 0) {
      done() // A frame of no bytes is none.
      return
    }
    this.#unsent = { bytes, done }
    this.#send()
  }

  override _final(done: () => void): void {
    this.#ourEnd = true
    this.#outgoing.write(endFrame())
    this.#endOutgoing()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#received.clear()
    this.#unsent?.done()
    this.#unsent = null
    if (this.#ended && error === null) letEnd(this.#incoming)
    else {
      this.#outgoing.destroy()
      this.#incoming.destroy()
    }
    done(error)
  }

  get #ended(): boolean {
    return this.#theirEnd && this.#ourEnd
  }

  #take(part: Buffer): void {
    try {
      for (const item of this.#frames.read(part)) if (!this.destroyed) this.#takeItem(item)
    } catch (cause) {
      this.#fail(answeredWrongly("its frames are not the protocol's", { cause }))
    }
  }

  #takeItem(item: PortItem): void {
    switch (item.type) {
      case 'data':
        this.#received.add(item.bytes)
        if (this.#theirEnd || this.#received.length + this.#untoldBytes > portWindowBytes)
          throw new Error('more data than there is room for')
        this.movedBytes += item.bytes.length
        break
      case 'end':
        if (this.#theirEnd) throw new Error('a second end')
        this.#theirEnd = true
        break
      case 'window':
        this.#roomBytes += item.bytes
        if (this.#roomBytes > portWindowBytes) throw new Error('more room than a window')
        this.#send()
        return
    }
    this.#handOn()
  }

  /** Hands data to the reader on request, and reports the freed room to the other side. */
  #handOn(): void {
    while (this.#hasRoom && this.#received.length > 0) {
      const bytes = this.#received.take(maxFrameDataBytes)
      this.#untoldBytes += bytes.length
      this.#hasRoom = false
      if (this.push(bytes)) this.#hasRoom = true
    }
    if (this.#untoldBytes >= windowStepBytes && !this.#theirEnd) {
      const bytes = this.#untoldBytes
      this.#untoldBytes = 0
      this.#outgoing.write(windowFrame(bytes))
    }
    if (this.#received.length === 0 && this.#theirEnd && this.#hasRoom) {
      this.#hasRoom = false
      this.push(null)
      this.#endOutgoing()
    }
  }

  /**
   * Sends as much written data as the other side has room for. A write may complete before it
   * returns, so all counts are updated first.
   */
  #send(): void {
    while (this.#unsent !== null && this.#roomBytes > 0) {
      const { bytes, done } = this.#unsent
      const now = bytes.subarray(0, Math.min(this.#roomBytes, maxFrameDataBytes))
      const isLast = now.length === bytes.length
      this.#roomBytes -= now.length
      this.movedBytes += now.length
      this.#unsent = isLast ? null : { bytes: bytes.subarray(now.length), done }
      this.#outgoing.write(dataFrame(now))
      if (isLast) done()
    }
  }

  #endOutgoing(): void {
    if (this.#ended) this.#outgoing.end()
  }

  /**
   * Ends the stream with an error, unless both sides have ended. Before that, a closed stream is a
   * broken connection.
   */
  #fail(error: Error): void {
    if (!this.#ended && !this.destroyed) this.destroy(error)
  }
}

function brokenOff(): EngineError {
  return new EngineError('unavailable', 'the connection to the port broke off')
}
