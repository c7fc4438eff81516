import { constants } from 'node:os'
import { type CommandHandle, HoltError, type Terminal, type TerminalEvent } from '@holt/sdk'
import { isGone, say, writeBytes } from '../output/print.ts'
import { brokenPipeExitCode, exitCodeOf } from '../running/run-attached.ts'
import { ourCommand } from '../shell/our-command.ts'
import { shellWord } from '../shell/shell-word.ts'
import { holtFailedExitCode } from '../verb/verb.ts'
import { DetachKeys } from './detach-keys.ts'
import { isInteractive, localSize, RawTerminal, sayOnWire } from './local-terminal.ts'

/**
 * The maximum number of bytes that may be typed ahead of a command that does not read. Beyond that,
 * the local terminal waits.
 */
const maxTypedAheadBytes = 1024 * 1024

const interrupt = 0x03 // Ctrl-C

/** Options for using a terminal. */
export interface TerminalUse {
  readonly command: CommandHandle
  /** The user's name for the runtime. */
  readonly runtimeName: string
  /** True if this terminal types, false if it only watches. */
  readonly write: boolean
  readonly takeover: boolean
}

/**
 * Connects this terminal to the command's until the command ends or the person leaves. Returns the
 * exit code for the shell.
 */
export async function useTerminal(use: TerminalUse): Promise<number> {
  const session = new TerminalSession(use)
  return session.run()
}

class TerminalSession {
  readonly #use: TerminalUse
  readonly #keys = new DetachKeys()
  #terminal: Terminal | null = null
  #raw: RawTerminal | null = null
  #left: 'by detach keys' | NodeJS.Signals | null = null
  #typedAhead = 0
  #droppedBytes = 0

  constructor(use: TerminalUse) {
    this.#use = use
  }

  async run(): Promise<number> {
    const { command, write, takeover } = this.#use
    const terminal = await command.attach({ write, takeover, onEvent: (event) => this.#hear(event) })
    this.#terminal = terminal
    const signals = this.#passSignals()
    this.#begin(terminal)
    try {
      for await (const { stream, data } of terminal.output()) {
        await writeBytes(stream === 'stderr' ? process.stderr : process.stdout, data)
        if (isGone(process.stdout)) return await this.#endUnread()
      }
      return await this.#end(terminal)
    } finally {
      signals.stop()
      this.#raw?.[Symbol.dispose]()
      process.stdin.destroy()
      await terminal.close()
    }
  }

  #begin(terminal: Terminal): void {
    if (isInteractive() && terminal.size !== null) {
      const how = this.#use.write ? 'Ctrl-P Ctrl-Q leaves it' : 'you watch; Ctrl-C leaves'
      say(`holt: ${how}, and it keeps running; come back with: ${this.#attachCommand()}`)
      this.#raw = new RawTerminal(() => this.#resize())
      this.#resize()
    }
    process.stdin.on('data', (bytes: Buffer) => this.#type(bytes))
    process.stdin.on('error', () => {}) // A terminal that is gone is noticed by its hang-up.
    if (this.#raw === null && this.#use.write) process.stdin.once('end', () => terminal.eof().catch(ignoreEnded))
  }

  #type(bytes: Buffer): void {
    const { typed, leaves } = this.#raw === null ? { typed: bytes, leaves: false } : this.#keys.read(bytes)
    const interrupts = this.#raw !== null && !this.#use.write && typed.includes(interrupt)
    if (this.#use.write && typed.length > 0) this.#write(typed)
    if (leaves) this.#leave('by detach keys')
    else if (interrupts) this.#leave('SIGINT')
  }

  #write(typed: Uint8Array): void {
    this.#typedAhead += typed.length
    if (this.#typedAhead > maxTypedAheadBytes) process.stdin.pause()
    const done = () => {
      this.#typedAhead -= typed.length
      if (this.#typedAhead <= maxTypedAheadBytes) process.stdin.resume()
    }
    // A failure to type has been reported: another client writes, the connection broke, or the
    // command has ended.
    this.#terminal?.write(typed).then(done, done)
  }

  #resize(): void {
    const size = localSize()
    const { size: known, writing } = this.#terminal ?? {}
    if (writing !== true || (known?.cols === size.cols && known?.rows === size.rows)) return
    // A terminal with a broken connection is resized after it reconnects.
    this.#terminal?.resize(size).catch(() => undefined)
  }

  #hear(event: TerminalEvent): void {
    if (event.type === 'dropped') this.#droppedBytes += event.dropped_bytes
    else if (event.type === 'broken') this.#say('the connection broke; trying to come back')
    else if (event.type === 'resumed') this.#say('back')
    else if (event.type === 'error' && event.about === 'input' && this.#typedAhead > 0)
      this.#say(`what was typed was refused: ${event.message}`)
    else if (event.type === 'writer' && event.writing) this.#resize()
    else if (event.type === 'writer' && this.#use.write) {
      const how = event.reason === 'lost' ? 'has taken over here' : 'types here'
      this.#say(`somebody else ${how}: you watch; take over with: ${this.#attachCommand()} --takeover`)
    }
  }

  #say(line: string): void {
    const tell = this.#raw === null ? say : sayOnWire
    tell(`holt: ${line}`)
  }

  /**
   * Handles signals. A signal that ends this program leaves the command. Ctrl-C goes to the command
   * if it is no key here.
   */
  #passSignals(): { stop(): void } {
    const leave = (signal: NodeJS.Signals) => this.#leave(signal)
    const pass = () => {
      if (!this.#use.write) this.#leave('SIGINT')
      // The view reports the broken connection. The person can type Ctrl-C again then.
      else this.#terminal?.sendSignal('SIGINT').catch(() => undefined)
    }
    process.on('SIGTERM', leave).on('SIGHUP', leave).on('SIGINT', pass)
    return { stop: () => void process.off('SIGTERM', leave).off('SIGHUP', leave).off('SIGINT', pass) }
  }

  #leave(how: 'by detach keys' | NodeJS.Signals): void {
    this.#left ??= how
    void this.#terminal?.close()
  }

  async #end(terminal: Terminal): Promise<number> {
    if (this.#left !== null) {
      this.#raw?.reset()
      this.#say(`left; come back with: ${this.#attachCommand()}`)
      return this.#left === 'by detach keys' ? 0 : 128 + constants.signals[this.#left]
    }
    const exitCode = exitCodeOf(await terminal.exited)
    if (this.#droppedBytes === 0) return exitCode
    this.#say(`${this.#droppedBytes} bytes of output were no longer kept, and are lost`)
    return exitCode === 0 ? holtFailedExitCode : exitCode
  }

  /** Ends the command because nobody reads the output any more, as a broken pipe does. */
  async #endUnread(): Promise<number> {
    if (this.#use.write) await this.#use.command.kill().catch(ignoreEnded)
    return brokenPipeExitCode
  }

  #attachCommand(): string {
    return `${ourCommand()} attach ${shellWord(this.#use.runtimeName)} ${shellWord(this.#use.command.command_id)}`
  }
}

/**
 * Ignores a failure after the end of the command. It was the goal, or the end of the output reports
 * it.
 */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof HoltError)) throw error
}
