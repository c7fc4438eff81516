import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const keyboard = fileURLToPath(new URL('../../../../e2e/probe/keyboard.py', import.meta.url))

/**
 * Command lines that start each shell without user settings, and the text that prepares completion.
 */
const shells = {
  bash: { argv: ['bash', '--norc', '--noprofile', '-i'], ready: '' },
  zsh: { argv: ['zsh', '-f', '-i'], ready: 'autoload -Uz compinit && compinit -u -D; ' },
  fish: { argv: ['fish', '--no-config', '-i'], ready: '' },
} as const
export type ShellName = keyof typeof shells
export const shellNames = Object.keys(shells) as ShellName[]

/** The most milliseconds for one line on a busy machine. */
const lineMs = 30_000
const quietMs = 200

/**
 * A shell at a real terminal. Its `holt` is a program in the folder that records requests for
 * completion in `asked` and its arguments in `ran`.
 */
export class ShellAtTerminal implements AsyncDisposable {
  screen = ''
  readonly #folder: string
  readonly #child: ChildProcessWithoutNullStreams

  constructor(name: ShellName, { folder, env = {} }: { folder: string; env?: Readonly<Record<string, string>> }) {
    this.#folder = folder
    this.#child = spawn('python3', [keyboard, ...shells[name].argv], {
      cwd: folder,
      env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, TERM: 'xterm', ...env },
    })
    this.#child.stdout.on('data', (bytes: Buffer) => {
      this.screen += bytes.toString('latin1')
    })
    this.#child.stdin.on('error', () => undefined)
    this.#type(`${shells[name].ready}source ${join(folder, `script.${name}`)}; echo re''ady\r`)
  }

  /** Waits until the shell has read the script. */
  async ready(): Promise<void> {
    await this.#until(() => this.screen.includes('ready\r'))
    await this.#quiet()
  }

  /** Types a line, TAB and Enter. Returns the words that `holt` was run with. */
  async complete(line: string): Promise<readonly string[]> {
    const ran = this.#count('ran')
    await this.#enter(line)
    await this.#until(() => this.#count('ran') > ran)
    await this.#quiet()
    return this.#lines('ran').at(-1)?.split('\u001f') ?? []
  }

  /** Types a line, TAB and Enter, and abandons the command line where it is incomplete then. */
  async tryToComplete(line: string): Promise<void> {
    const ran = this.#count('ran')
    await this.#enter(line)
    // At a prompt, Ctrl-C would also discard what is typed next.
    if (!(await this.#until(() => this.#count('ran') > ran, 3_000))) this.#type('\u0003')
    await this.#quiet()
  }

  async #enter(line: string): Promise<void> {
    const asked = this.#count('asked')
    this.#type(`${line}\t`)
    await this.#until(() => this.#count('asked') > asked)
    await this.#quiet()
    this.#type('\r')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once('close', resolve))
    this.#type('\u0003exit\r')
    if ((await Promise.race([closed, sleep(5_000, 'late')])) === 'late') this.#child.kill('SIGKILL')
    await closed
  }

  #type(text: string): void {
    this.#child.stdin.write(`${JSON.stringify({ type: text })}\n`)
  }

  async #until(isSo: () => boolean, ms: number = lineMs): Promise<boolean> {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (isSo()) return true
    if (ms === lineMs) throw new Error(`the shell does not go on: ${JSON.stringify(this.screen.slice(-2_000))}`)
    return false
  }

  async #quiet(): Promise<void> {
    for (let seen = -1; seen !== this.screen.length; ) {
      seen = this.screen.length
      await sleep(quietMs)
    }
  }

  #count(name: string): number {
    return this.#lines(name).length
  }

  /** Returns the records of a file. They end with 0x1e, because words may have line breaks. */
  #lines(name: string): readonly string[] {
    const path = join(this.#folder, name)
    return existsSync(path) ? readFileSync(path, 'utf8').split('\u001e').slice(0, -1) : []
  }
}

/**
 * Returns a program that stands in for `holt` at a terminal. `complete` is the shell text that
 * answers a request for completion.
 */
export function standIn(complete: string): string {
  return `#!/bin/bash
folder=\${0%/*}
if [ "$1" = __complete ]; then
  ${complete}
  printf '%s\\036' asked >>"$folder/asked"
else
  IFS=$'\\037'
  printf '%s\\036' "$*" >>"$folder/ran"
fi
`
}
