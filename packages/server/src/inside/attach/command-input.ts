import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { GuestClient } from '@holt/guest-client'

/**
 * The pause after a command has taken no input, in milliseconds. The guest has already waited too.
 */
const refusedInputPauseMs = 50

/** The characters of a client's digest in the id of an operation, of which the guest allows 64. */
const digestLength = 32

/** A piece of the input of an attachment. */
export interface InputPiece {
  /** The bytes; null: the end of the input. */
  readonly data: Buffer | null
  /** The position of the bytes in the input of the client; null if the client does not count. */
  readonly position: number | null
}

/** The parts of a command's input. */
interface InputParts {
  readonly guest: GuestClient
  readonly commandId: string
  /** The name of the client; null if it has none. */
  readonly client: string | null
}

/**
 * The input of a command from one client. A client that counts its input can send a piece again
 * after a broken connection, also to the next daemon. The guest then types it once, because both
 * requests are the same operation to it.
 */
export class CommandInput {
  readonly #parts: InputParts
  readonly #digest: string
  #position: number | null = null

  constructor(parts: InputParts) {
    this.#parts = parts
    this.#digest = createHash('sha256').update(`${parts.client}`).digest('base64url').slice(0, digestLength)
  }

  /** Sets the position of the next bytes, in bytes over all attachments of the client. */
  continueAt(position: number): void {
    this.#position = position
  }

  /** Returns input with its position. The next input follows it. */
  place(data: Buffer | null): InputPiece {
    const position = data === null ? null : this.#position
    if (this.#position !== null && data !== null) this.#position += data.length
    return { data, position }
  }

  /**
   * Writes a whole piece. A command that does not read takes a part, and the rest is sent again. An
   * end of the input closes stdin.
   */
  async write({ data, position }: InputPiece, signal: AbortSignal): Promise<void> {
    const { guest, commandId } = this.#parts
    const eof = data === null
    let rest = data ?? Buffer.alloc(0)
    for (let at = position, tries = 0; ; ) {
      const operation = at === null ? undefined : this.#operation(at, tries)
      const write = { data: rest, eof, offset: null, operation }
      const { written_bytes, remembered } = await guest.processes.writeStdin(commandId, write, signal)
      if (written_bytes >= rest.length) return
      if (written_bytes === 0) await pause(refusedInputPauseMs, undefined, { signal })
      // A guest of an earlier version remembers this answer. The next write to it has another id.
      tries = written_bytes === 0 && remembered !== false ? tries + 1 : 0
      if (at !== null) at += written_bytes
      rest = rest.subarray(written_bytes)
    }
  }

  /** Returns the id under which the guest knows a write. Other clients have other ids. */
  #operation(position: number, tries: number): string {
    return `${this.#digest}-${position}-${tries}`
  }
}
