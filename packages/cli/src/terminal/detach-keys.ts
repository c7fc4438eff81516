const first = 0x10 // Ctrl-P
const second = 0x11 // Ctrl-Q

/** The typed bytes without the detach keys. */
export interface Keys {
  readonly typed: Uint8Array
  readonly leaves: boolean
}

/** Finds Ctrl-P Ctrl-Q in typed bytes. A single Ctrl-P is passed on with the key after it. */
export class DetachKeys {
  #held = false

  read(bytes: Uint8Array): Keys {
    const typed: number[] = []
    for (const byte of bytes) {
      if (this.#held && byte === second) {
        this.#held = false
        return { typed: Uint8Array.from(typed), leaves: true }
      }
      if (this.#held) typed.push(first)
      this.#held = byte === first
      if (!this.#held) typed.push(byte)
    }
    return { typed: Uint8Array.from(typed), leaves: false }
  }
}
