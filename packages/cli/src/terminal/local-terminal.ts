import type { TerminalSize } from '@holt/sdk'
import { printable } from '../output/visible.ts'

/** The size in place of one that is unknown or that the service does not accept. */
const usualSize: TerminalSize = { cols: 80, rows: 24 }
const maxSide = 10_000

/**
 * The sequence that resets the usual changes of a full-screen program: the other screen, a hidden
 * cursor, keypad keys, the mouse, marked pastes, colours.
 */
const backToNormal =
  '\u001b[?1049l\u001b[?25h\u001b[?1l\u001b>\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[0m'

/** Returns true if a person types on this terminal. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true
}

/** Returns the size of the local terminal; the usual size if there is none. */
export function localSize(): TerminalSize {
  const screen = [process.stdout, process.stderr].find((stream) => stream.isTTY)
  const [cols, rows] = screen?.getWindowSize() ?? [0, 0]
  if (cols < 1 || rows < 1) return usualSize
  return { cols: Math.min(cols, maxSide), rows: Math.min(rows, maxSide) }
}

/**
 * The local terminal in raw mode. Each key is passed on, even those that would be local signals.
 * Disposing of it restores the terminal.
 */
export class RawTerminal implements Disposable {
  readonly #onResize: () => void
  readonly #onContinue = () => {
    this.#enter()
    this.#onResize()
  }
  #left = false

  /** `onResize` is called when the size may have changed. */
  constructor(onResize: () => void) {
    this.#onResize = onResize
    this.#enter()
    process.on('SIGWINCH', onResize)
    process.on('SIGCONT', this.#onContinue)
    process.once('exit', this.#restore)
  }

  /**
   * Undoes the changes of a program on the screen. The program continues elsewhere and does not
   * undo them itself.
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
    // Node keeps the carriage return before each line feed. Programs that move the cursor down with
    // a line feed do not expect it.
    // Not imported: most commands run without a terminal.
    process.getBuiltinModule('node:child_process').spawnSync('stty', ['-opost'], { stdio: [0, 'ignore', 'ignore'] })
  }

  readonly #restore = () => {
    if (this.#left) return
    this.#left = true
    process.stdin.setRawMode(false)
  }
}

/**
 * Prints a message while the terminal is in raw mode: on a line of its own, with the carriage
 * returns that raw mode needs.
 */
export function sayOnWire(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\n${printable(line)}\r\n` : `${printable(line)}\n`)
}
