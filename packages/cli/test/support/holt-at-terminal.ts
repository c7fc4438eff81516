import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TestService } from '../../../sdk/test/support/test-service.ts'
import { holtArgv } from './run-holt.ts'

const keyboard = fileURLToPath(new URL('../../../../e2e/probe/keyboard.py', import.meta.url))

/** The most milliseconds for one step on a busy machine. */
const stepMs = 30_000

/** How `holt` is run at a terminal. */
export interface AtTerminal {
  readonly service: TestService
  /** The home directory. */
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
}

/** `holt` at a real terminal with a person at it. */
export class HoltAtTerminal implements Disposable {
  /** Everything that the screen has shown. */
  screen = ''
  /** The exit code. */
  readonly code: Promise<number>
  readonly #child: ChildProcessWithoutNullStreams

  constructor(args: readonly string[], { service, home, env = {} }: AtTerminal) {
    const reach = { HOLT_URL: service.url, HOLT_API_KEY: service.key }
    const own = { PATH: process.env.PATH, HOME: home, TERM: 'xterm' }
    this.#child = spawn('python3', [keyboard, ...holtArgv, ...args], { cwd: home, env: { ...own, ...reach, ...env } })
    let told = ''
    this.#child.stdout.on('data', (bytes: Buffer) => {
      this.screen += bytes.toString('latin1')
    })
    this.#child.stderr.on('data', (bytes: Buffer) => {
      told += bytes
    })
    this.#child.stdin.on('error', () => undefined)
    this.code = new Promise((resolve, reject) =>
      this.#child.once('close', () => {
        try {
          resolve(JSON.parse(told).code)
        } catch {
          reject(new Error(`the keyboard broke: ${told}`))
        }
      }),
    )
    this.code.catch(() => undefined)
  }

  type(text: string): void {
    this.#child.stdin.write(`${JSON.stringify({ type: text })}\n`)
  }

  /** Waits until the screen shows a text after a position. Returns the position behind it. */
  async shows(text: string, from = 0): Promise<number> {
    for (const end = performance.now() + stepMs; performance.now() < end; await sleep(20)) {
      const at = this.screen.indexOf(text, from)
      if (at >= 0) return at + text.length
    }
    throw new Error(`the screen does not show ${JSON.stringify(text)}: ${JSON.stringify(this.screen.slice(-2_000))}`)
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
  }
}
