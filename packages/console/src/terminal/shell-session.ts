import { type Commands, HoltError, type Terminal, type TerminalEvent, type TerminalExit } from '@holt/sdk'
import type { KeptTerminal } from './kept-tabs.ts'
import type { Screen, ScreenListener, ScreenSize } from './screen.ts'

/** The states of a terminal. `broken` reconnects by itself; `failed` does not. */
type ShellState =
  | { readonly type: 'attaching' | 'open' | 'broken' }
  | { readonly type: 'ended'; readonly exit: TerminalExit }
  | { readonly type: 'failed'; readonly error: unknown }

/** A terminal as the page shows it. */
export interface ShellView extends KeptTerminal {
  readonly state: ShellState
  /** The title that the program has set, as text. */
  readonly title: string
  /** True if keys go to the shell; false while somebody else types. */
  readonly writing: boolean
  /** The keys and pastes that the shell has not received yet. */
  readonly waiting: number
  /** The error of input that was not typed, or may not have been; null if there is none. */
  readonly lost: unknown
  /** The bytes of output that were no longer kept. */
  readonly droppedBytes: number
  /** A link that a person has clicked; null if there is none. */
  readonly link: string | null
}

interface SessionParts {
  readonly commands: Commands
  readonly kept: KeptTerminal
  /** True if this page has started the shell. Then its queries are answered from its first byte. */
  readonly isNew: boolean
  /** True if the key may type. */
  readonly mayWrite: boolean
  readonly makeScreen: (listener: ScreenListener) => Screen
  readonly onChange: () => void
}

/** The time in milliseconds for input in flight to arrive before its terminal is left. */
const farewellMs = 2_000

/** A terminal of the page: an attachment to a command, and a screen. */
export class ShellSession {
  readonly screen: Screen
  readonly #parts: SessionParts
  readonly #ended = new AbortController()
  readonly #attached: Promise<Terminal>
  readonly #inFlight = new Set<Promise<void>>()
  #terminal: Terminal | null = null
  #view: ShellView

  constructor(parts: SessionParts) {
    this.#parts = parts
    const { kept, makeScreen, commands, mayWrite } = parts
    this.#view = {
      ...kept,
      state: { type: 'attaching' },
      title: '',
      writing: mayWrite,
      waiting: 0,
      lost: null,
      droppedBytes: 0,
      link: null,
    }
    this.screen = makeScreen({
      typed: (data) => this.#type(data),
      resized: () => this.#tellSize(),
      titled: (title) => this.#change({ title }),
      linkChosen: (link) => this.#change({ link }),
    })
    const { signal } = this.#ended
    const onEvent = (event: TerminalEvent) => this.#heed(event)
    this.#attached = commands.attach(kept.commandId, { write: mayWrite, signal, onEvent })
    void this.#run()
  }

  /** The terminal as the page shows it. It is another object after each change. */
  get view(): ShellView {
    return this.#view
  }

  rename(name: string): void {
    this.#change({ name })
  }

  /** Forgets the error of lost input. */
  forgetLost(): void {
    this.#change({ lost: null })
  }

  forgetLink(): void {
    this.#change({ link: null })
  }

  /** Types from now on, although somebody else does. */
  async takeOver(): Promise<void> {
    await (await this.#attached).takeOver()
  }

  /** Leaves the terminal, after the input in flight has arrived. The command continues. */
  async leave(): Promise<void> {
    const arrived = Promise.allSettled(this.#inFlight)
    if (this.#inFlight.size > 0)
      await Promise.race([arrived, new Promise((resolve) => setTimeout(resolve, farewellMs))])
    this.#ended.abort()
    this.screen.dispose()
  }

  async #run(): Promise<void> {
    try {
      const terminal = await this.#attached
      this.#terminal = terminal
      const seenBefore = this.#parts.isNew ? 0 : terminal.replayEnd
      this.#change({ state: { type: 'open' } })
      if (!this.#parts.mayWrite) this.screen.follow(terminal.size)
      this.#tellSize()
      for await (const { data, cursor } of terminal.output()) await this.#show(data, cursor, seenBefore)
      this.#change({ state: { type: 'ended', exit: await terminal.exited }, waiting: 0 })
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#change({ state: { type: 'failed', error } })
    }
  }

  /**
   * Shows output. Queries before `seenBefore` were answered by an earlier page, or are too old: an
   * answer would be typed at the prompt.
   */
  async #show(data: Uint8Array, cursor: number, seenBefore: number): Promise<void> {
    const old = Math.min(data.length, Math.max(0, seenBefore - (cursor - data.length)))
    if (old > 0) await this.screen.write(data.subarray(0, old), { answers: false })
    if (old < data.length) await this.screen.write(data.subarray(old), { answers: true })
  }

  #type(data: string | Uint8Array): void {
    const { state } = this.#view
    // The page says that keys go nowhere.
    if (state.type === 'ended' || state.type === 'failed' || !this.#view.writing) return
    const typed = this.#attached.then((terminal) => terminal.write(data))
    this.#inFlight.add(typed)
    this.#change({ waiting: this.#inFlight.size })
    typed
      .catch((error: unknown) => {
        // After the end nobody can read what was typed, which the page says.
        if (!this.#ended.signal.aborted && this.#view.state.type !== 'ended') this.#change({ lost: error })
      })
      .finally(() => {
        this.#inFlight.delete(typed)
        this.#change({ waiting: this.#inFlight.size })
      })
  }

  #heed(event: TerminalEvent): void {
    if (event.type === 'broken') this.#change({ state: { type: 'broken' } })
    else if (event.type === 'resumed') this.#change({ state: { type: 'open' } })
    else if (event.type === 'dropped') this.#change({ droppedBytes: this.#view.droppedBytes + event.dropped_bytes })
    else if (event.type === 'writer') this.#changeWriter(event.writing)
    else if (event.type === 'resize' && !this.#view.writing) this.screen.follow({ cols: event.cols, rows: event.rows })
  }

  #changeWriter(writing: boolean): void {
    this.#change({ writing })
    this.screen.follow(writing ? null : (this.#terminal?.size ?? null))
    if (writing) this.#tellSize()
  }

  /** Tells the size of the screen. It is told again when this terminal becomes the writer. */
  #tellSize(): void {
    const terminal = this.#terminal
    if (terminal === null || !terminal.writing || isSame(terminal.size, this.screen.size)) return
    terminal.resize(this.screen.size).catch((error: unknown) => {
      if (!(error instanceof HoltError)) throw error // Otherwise it is away, and will grant writing again.
    })
  }

  #change(change: Partial<ShellView>): void {
    this.#view = { ...this.#view, ...change }
    this.#parts.onChange()
  }
}

function isSame(one: ScreenSize | null, other: ScreenSize): boolean {
  return one?.cols === other.cols && one.rows === other.rows
}
