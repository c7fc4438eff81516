import type { Commands } from '@holt/sdk'
import { type KeptTerminal, keepTabs, readTabs } from './kept-tabs.ts'
import type { ScreenListener } from './screen.ts'
import { ShellSession, type ShellView } from './shell-session.ts'

/** The terminals of a page, in the order of their tabs. */
export interface TerminalsView {
  readonly terminals: readonly ShellView[]
  /** The command of the terminal that is shown; null if there is none. */
  readonly selected: string | null
}

interface Place {
  readonly commands: Commands
  /** The place in the storage of this tab of the browser. */
  readonly place: string
  readonly mayWrite: boolean
}

/** The size with which a shell begins. Its first attachment sets the size of the screen. */
const firstSize = { cols: 80, rows: 24 }

/** The login shell of the command's user. The guest sets SHELL. */
const loginShell = ['/bin/sh', '-c', `exec "$\{SHELL:-/bin/sh}" -l`]

/** The open terminals of one runtime, which a reload of the page finds again. */
export class OpenTerminals {
  readonly #place: Place
  readonly #listeners = new Set<() => void>()
  #sessions: ShellSession[] = []
  #selected: string | null = null
  #view: TerminalsView = { terminals: [], selected: null }
  #isOpen = false

  constructor(place: Place) {
    this.#place = place
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The terminals as the page shows them. It is another object after each change. */
  readonly view = (): TerminalsView => this.#view

  /** Attaches to the terminals that were open before a reload. */
  async open(): Promise<void> {
    this.#isOpen = true
    const { terminals, selected } = readTabs(this.#place.place)
    if (terminals.length === 0) return
    this.#selected = selected
    await this.#attach(terminals, false)
  }

  /** Leaves all terminals. Their commands continue, and `open` finds them again. */
  close(): void {
    this.#isOpen = false
    for (const session of this.#sessions.splice(0)) void session.leave()
    this.#tell()
  }

  session(commandId: string): ShellSession | undefined {
    return this.#sessions.find(({ view }) => view.commandId === commandId)
  }

  /** Starts a shell, shows it, and returns its command. An empty text means the login shell. */
  async start(shell: string, name = this.#nextName()): Promise<string> {
    const line = shell.trim()
    const { command_id } = await this.#place.commands.start(line === '' ? loginShell : line, { pty: firstSize })
    await this.attach({ commandId: command_id, name, shell: line }, true)
    return command_id
  }

  /** Shows the terminal of a command that runs. */
  async attach(kept: KeptTerminal, isNew = false): Promise<void> {
    this.#selected = kept.commandId
    await this.#attach([kept], isNew)
  }

  /** Starts the shell of a terminal again, in its tab. */
  async startAgain({ commandId, shell, name }: ShellView): Promise<void> {
    const started = this.session(await this.start(shell, name))
    const others = this.#sessions.filter((each) => each !== started)
    // The new terminal stands before the old one, which is removed.
    if (started !== undefined)
      this.#sessions = others.flatMap((each) => (each.view.commandId === commandId ? [started, each] : each))
    this.remove(commandId)
  }

  /** Attaches to a terminal again that has failed. */
  async attachAgain({ commandId, shell, name }: ShellView): Promise<void> {
    await this.#leave(commandId)
    await this.attach({ commandId, shell, name })
  }

  /** Removes a tab. Its command continues. */
  remove(commandId: string): void {
    void this.#leave(commandId)
    this.#change()
  }

  /** Kills a command with all of its processes. Its terminal shows the end. */
  async end(commandId: string): Promise<void> {
    await (await this.#place.commands.get(commandId)).kill()
  }

  select(commandId: string): void {
    this.#selected = commandId
    this.#change()
  }

  /** Returns the name of a new terminal, which no other one has. */
  #nextName(): string {
    const names = new Set(this.#sessions.map(({ view }) => view.name))
    for (let number = 1; ; number += 1) if (!names.has(`Terminal ${number}`)) return `Terminal ${number}`
  }

  async #attach(terminals: readonly KeptTerminal[], isNew: boolean): Promise<void> {
    // It is large, so it is loaded with the first terminal.
    const { Screen } = await import('./screen.ts')
    const { commands, mayWrite } = this.#place
    for (const kept of this.#isOpen ? terminals : []) {
      if (this.session(kept.commandId) !== undefined) continue
      const makeScreen = (listener: ScreenListener) => new Screen(listener)
      const onChange = () => this.#change()
      this.#sessions.push(new ShellSession({ commands, kept, isNew, mayWrite, makeScreen, onChange }))
    }
    this.#change()
  }

  async #leave(commandId: string): Promise<void> {
    const at = this.#sessions.findIndex(({ view }) => view.commandId === commandId)
    const [session] = at === -1 ? [] : this.#sessions.splice(at, 1)
    await session?.leave()
  }

  #change(): void {
    if (!this.#isOpen) return
    this.#tell()
    const terminals = this.#view.terminals.map(({ commandId, name, shell }) => ({ commandId, name, shell }))
    keepTabs(this.#place.place, { terminals, selected: this.#view.selected })
  }

  #tell(): void {
    const terminals = this.#sessions.map(({ view }) => view)
    const selected = terminals.find(({ commandId }) => commandId === this.#selected) ?? terminals.at(-1)
    this.#view = { terminals, selected: selected?.commandId ?? null }
    for (const listener of this.#listeners) listener()
  }
}
