import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { service } from './facts.ts'
import { until } from './until.ts'

const repository = join(import.meta.dirname, '..', '..')

/** How a program in a terminal ended. */
export interface KeyboardEnd {
  readonly code: number
  /** True if the terminal has its earlier settings. */
  readonly restored: boolean
}

/** The CLI in a terminal with a person at it. */
export class Keyboard implements Disposable {
  /** Everything that the screen has shown. */
  screen = ''
  readonly ended: Promise<KeyboardEnd>
  readonly #child: ChildProcessWithoutNullStreams

  constructor(args: readonly string[]) {
    const program = [
      join(repository, 'e2e', 'probe', 'keyboard.py'),
      join(repository, 'packages', 'cli', 'bin', 'holt'),
    ]
    this.#child = spawn('python3', [...program, ...args], {
      cwd: '/',
      env: { PATH: process.env.PATH, HOME: '/root', TERM: 'xterm', HOLT_URL: service.url, HOLT_API_KEY: service.key },
    })
    let told = ''
    this.#child.stdout.on('data', (bytes: Buffer) => {
      this.screen += bytes.toString('latin1')
    })
    this.#child.stderr.on('data', (bytes: Buffer) => {
      told += bytes
    })
    this.#child.stdin.on('error', () => undefined)
    this.ended = new Promise((resolve, reject) =>
      this.#child.once('close', () => {
        try {
          resolve(JSON.parse(told))
        } catch {
          reject(new Error(`the keyboard broke: ${told}`))
        }
      }),
    )
    this.ended.catch(() => undefined)
  }

  type(text: string): void {
    this.#order({ type: text })
  }

  resize(rows: number, cols: number): void {
    this.#order({ size: [rows, cols] })
  }

  signal(number: number): void {
    this.#order({ signal: number })
  }

  /** Waits until the screen shows something. */
  async shows(text: string | RegExp): Promise<string> {
    const found = () => (typeof text === 'string' ? this.screen.includes(text) : text.test(this.screen))
    try {
      await until(`the screen shows ${text}`, async () => found(), 40_000)
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}; it shows ${JSON.stringify(this.screen)}`)
    }
    return this.screen
  }

  [Symbol.dispose](): void {
    this.#child.stdin.destroy()
    this.#child.kill('SIGKILL')
  }

  #order(order: object): void {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`)
  }
}
