import { spawnSync } from 'node:child_process'
import type { TerminalSize } from '@holt/sdk'
import { printable } from '../output/visible.ts'

/** A terminal that nobody asked, and one of a size that the service does not take. */
const usualSize: TerminalSize = { cols: 80, rows: 24 }
const maxSide = 10_000

/**
 * Resets everything that a program on a screen may have set: the other screen, a hidden cursor,
 * keypad keys, the mouse, marked pastes, colours.
 */
const backToNormal =
  '\u001b[?1049l\u001b[?25h\u001b[?1l\u001b>\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[0m'

/** Returns true if a person types here. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true
}

/** Returns the size of the terminal here; the usual size if there is none. */
export function localSize(): TerminalSize {
  const screen = [process.stdout, process.stderr].find((stream) => stream.isTTY)
  const [cols, rows] = screen?.getWindowSize() ?? [0, 0]
  if (cols < 1 || rows < 1) return usualSize
  return { cols: Math.min(cols, maxSide), rows: Math.min(rows, maxSide) }
}

/**
 * The terminal here as a wire to another one: each key goes through, also those that would be
 * signals here. Restored when disposed of.
 */
export class RawTerminal implements Disposable {
  readonly #onResize: () => void
  readonly #onContinue = () => {
    this.#enter()
    this.#onResize()
  }
  #left = false

  /** `onResize` hears that the size may have changed. */
  constructor(onResize: () => void) {
    this.#onResize = onResize
    this.#enter()
    process.on('SIGWINCH', onResize)
    process.on('SIGCONT', this.#onContinue)
    process.once('exit', this.#restore)
  }

  /**
   * Undoes what a program on the screen may have set: it goes on elsewhere, and does not do that
   * itself.
   */
  reset(): void {
    if (process.stdout.isTTY) process.stdout.write(backToNormal)
  }

  [Symbol.dispose](): void {
    process.off('SIGWINCH', this.#onResize)
    process.off('SIGCONT', this.#onContinue)
    process.off('exit', this.#restore)
    this.#restore()
  }

  #enter(): void {
    process.stdin.setRawMode(true)
    // Node leaves a carriage return before each line feed, which programs that move the cursor down
    // with a line feed do not expect.
    spawnSync('stty', ['-opost'], { stdio: [0, 'ignore', 'ignore'] })
  }

  readonly #restore = () => {
    if (this.#left) return
    this.#left = true
    process.stdin.setRawMode(false)
  }
}

/**
 * Tells people something while the terminal is a wire: on a line of its own, with the returns that
 * it then needs.
 */
export function sayOnWire(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\n${printable(line)}\r\n` : `${printable(line)}\n`)
}
