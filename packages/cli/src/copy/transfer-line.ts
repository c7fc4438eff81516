import type { TransferProgress } from '@holt/sdk'

/** The interval between two drawings, in milliseconds. */
const drawEveryMs = 100
/** The window of the rate, in milliseconds. */
const rateWindowMs = 3_000

/**
 * One line on a terminal with the progress of a transfer, which is redrawn. Nothing is printed
 * elsewhere.
 */
export class TransferLine {
  readonly #what: string
  readonly #stream: NodeJS.WriteStream
  readonly #marks: { readonly ms: number; readonly bytes: number }[] = []
  #drawnMs = Number.NEGATIVE_INFINITY
  #isThere = false

  constructor(what: string, stream: NodeJS.WriteStream = process.stderr) {
    this.#what = what
    this.#stream = stream
  }

  /** Shows the current progress. */
  update(progress: TransferProgress): void {
    const nowMs = performance.now()
    if (!this.#stream.isTTY || nowMs - this.#drawnMs < drawEveryMs) return
    this.#drawnMs = nowMs
    this.#marks.push({ ms: nowMs, bytes: progress.bytes })
    while ((this.#marks[0]?.ms ?? nowMs) < nowMs - rateWindowMs) this.#marks.shift()
    const text = `${this.#what}: ${progressText(progress, rateOf(this.#marks))}`
    this.#stream.write(`\r\u001b[K${text.slice(0, (this.#stream.columns || 80) - 1)}`)
    this.#isThere = true
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isThere) this.#stream.write('\r\u001b[K')
    this.#isThere = false
  }
}

/** Returns the files and bytes out of the known totals, and the bytes per second. */
export function progressText(progress: TransferProgress, bytesPerSecond: number | null): string {
  const { files, bytes, totalFiles, totalBytes } = progress
  const filesText = totalFiles === null ? `${files}` : `${files} of ${totalFiles}`
  const bytesText = totalBytes === null ? amount(bytes) : `${amount(bytes)} of ${amount(totalBytes)}`
  const rateText = bytesPerSecond === null ? '' : `, ${amount(bytesPerSecond)}/s`
  return `${filesText} files, ${bytesText}${rateText}`
}

function rateOf(marks: readonly { readonly ms: number; readonly bytes: number }[]): number | null {
  const [first, last] = [marks[0], marks.at(-1)]
  if (first === undefined || last === undefined || last.ms === first.ms) return null
  return ((last.bytes - first.bytes) * 1000) / (last.ms - first.ms)
}

/** Formats an amount of bytes: `512 B`, `1.5 KiB`, `20 MiB`. */
export function amount(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 10 ? Math.round(value) : Math.floor(value * 10) / 10} ${units[power]}`
}
