import type { CodeOutput } from '@holt/protocol'
import { presentValue, type ShownValue } from './present-code.ts'

/** The memory of a result besides its text, in bytes. It bounds the number of empty results. */
const overheadBytes = 256

/** The memory of one value of JSON besides its text, in bytes. */
const valueBytes = 32

/** The size of a part of a result: bytes of JSON in the answer, and memory meanwhile. */
interface Size {
  readonly bytes: number
  readonly memory: number
}

interface Kept {
  readonly displayId: string | null
  readonly output: CodeOutput
  readonly size: Size
}

/**
 * The results of a run, as far as they fit. Updates and clears are applied, so the list is what a
 * notebook shows at the end.
 */
export class KeptResults {
  readonly #keep: (bytes: number) => boolean
  readonly #maxBytes: number
  #kept: Kept[] = []
  #used: Size = { bytes: 0, memory: 0 }
  /** The memory that was counted for this list at its largest. */
  #countedMemory = 0
  /** True if the next output removes the results so far. */
  #isCleared = false
  #truncated = false

  constructor({ maxBytes, keep }: { readonly maxBytes: number; readonly keep: (bytes: number) => boolean }) {
    this.#maxBytes = maxBytes
    this.#keep = keep
  }

  /** True if a result, or a form of one, is missing. */
  get truncated(): boolean {
    return this.#truncated
  }

  list(): CodeOutput[] {
    return this.#kept.map(({ output }) => output)
  }

  /** Adds a value, or replaces the value of the display that it updates. */
  show(value: ShownValue): void {
    this.outputCame()
    const displayId = value.display_id ?? null
    if (value.type !== 'update_display') this.#add(displayId, presentValue(value))
    else if (displayId !== null)
      this.#kept.forEach((one, at) => {
        if (one.displayId !== displayId) return
        this.#release(one.size)
        const { output, size } = this.#fitting(presentValue(value))
        this.#kept[at] = { displayId, output, size }
      })
  }

  /** Removes the results so far, now or when the next output comes. */
  clear(waits: boolean): void {
    this.#isCleared = waits
    if (waits) return
    this.#kept = []
    this.#used = { bytes: 0, memory: 0 }
  }

  /** Notes output, before which a cleared result goes. */
  outputCame(): void {
    if (this.#isCleared) this.clear(false)
  }

  /** Notes that a result could not be read. */
  miss(): void {
    this.#truncated = true
  }

  #add(displayId: string | null, output: CodeOutput): void {
    if (!this.#take({ bytes: 0, memory: overheadBytes })) return
    this.#kept.push({ displayId, ...this.#fitting(output) })
  }

  /** Returns a value without the forms that do not fit. The smallest forms are kept first. */
  #fitting({ data, metadata, main }: CodeOutput): { readonly output: CodeOutput; readonly size: Size } {
    const parts = Object.entries(data)
      .map(([mime, form]) => ({ mime, form, size: sizeOf({ [mime]: form }) }))
      .sort((a, b) => a.size.bytes - b.size.bytes)
    const fitting = parts.filter(({ size }) => this.#take(size))
    const about = { metadata, size: sizeOf(metadata) }
    const told = this.#take(about.size) ? [about] : []
    return {
      output: {
        data: Object.fromEntries(fitting.map(({ mime, form }) => [mime, form])),
        metadata: told[0]?.metadata ?? {},
        main,
      },
      size: [...fitting, ...told].reduce(
        (sum, { size }) => ({ bytes: sum.bytes + size.bytes, memory: sum.memory + size.memory }),
        { bytes: 0, memory: 0 },
      ),
    }
  }

  #take({ bytes, memory }: Size): boolean {
    const all = { bytes: this.#used.bytes + bytes, memory: this.#used.memory + memory }
    const more = all.memory - this.#countedMemory
    if (all.bytes > this.#maxBytes || (more > 0 && !this.#keep(more))) {
      this.#truncated = true
      return false
    }
    this.#used = all
    this.#countedMemory = Math.max(this.#countedMemory, all.memory)
    return true
  }

  #release({ bytes, memory }: Size): void {
    this.#used = { bytes: this.#used.bytes - bytes, memory: this.#used.memory - memory }
  }
}

function sizeOf(value: unknown): Size {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  return { bytes, memory: bytes + valueBytes * (text.match(/[,:[{]/g)?.length ?? 0) }
}
