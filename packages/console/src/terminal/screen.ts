import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { allowSpanStyles, withoutStyleElements } from './allow-styles.ts'
import { answerRate, guardAnswers, isFocusReport } from './guard-answers.ts'
import { pastedText, titleText } from './hostile-text.ts'
import { followTheme } from './screen-theme.ts'

/** The size of a screen in characters. */
export interface ScreenSize {
  readonly cols: number
  readonly rows: number
}

/** The callbacks of a screen. */
export interface ScreenListener {
  /** Receives what is typed: keys, pastes, reports of the mouse, and answers to queries. */
  typed(data: string | Uint8Array): void
  resized(size: ScreenSize): void
  /** Receives the title that the program sets, without control characters. */
  titled(title: string): void
  /** Receives the address of a link that was clicked. Nothing else happens. */
  linkChosen(uri: string): void
}

/** The rows above the screen that can be scrolled to. */
const scrollback = 5_000

/**
 * The maximum number of characters of a size that another writer has set. The service takes 10,000
 * by 10,000, for which this page would need gigabytes.
 */
const most: ScreenSize = { cols: 1_000, rows: 500 }

/** A screen and a keyboard, of xterm.js. */
export class Screen {
  /** The element to put into the page. It may be moved. */
  readonly element: HTMLDivElement
  /** Called when the person leaves the terminal by its key. */
  onLeave: () => void = () => {}
  readonly #terminal: Terminal
  readonly #fit = new FitAddon()
  readonly #observer: ResizeObserver
  readonly #unfollow: () => void
  #isOpened = false
  #wake: () => void = () => {}
  /** True if the output that is being written may be answered. */
  #answers = true
  /** True if the size follows the element; false if it follows another writer. */
  #fits = true

  constructor(listener: ScreenListener) {
    allowSpanStyles()
    this.element = document.createElement('div')
    this.element.className = 'screen'
    this.#terminal = new Terminal({
      scrollback,
      fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
      fontSize: 14,
      // Output cannot hide text, and the colors of programs suit both themes.
      minimumContrastRatio: 4.5,
      macOptionIsMeta: true,
      linkHandler: { activate: (_, uri) => listener.linkChosen(uri), allowNonHttpProtocols: false },
    })
    this.#terminal.loadAddon(this.#fit)
    const isWithinRate = answerRate()
    const mayAnswer = () => this.#answers && isWithinRate()
    guardAnswers(this.#terminal, mayAnswer)
    this.#terminal.onData((data) => {
      if (!isFocusReport(data) || mayAnswer()) listener.typed(data)
    })
    this.#terminal.onBinary((data) => listener.typed(Uint8Array.from(data, (char) => char.charCodeAt(0))))
    this.#terminal.onResize(({ cols, rows }) => listener.resized({ cols, rows }))
    this.#terminal.onTitleChange((title) => listener.titled(titleText(title)))
    this.#terminal.attachCustomKeyEventHandler((event) => this.#passes(event))
    this.element.addEventListener('paste', (event) => this.#paste(event), { capture: true })
    this.#observer = new ResizeObserver(() => this.#resize())
    this.#observer.observe(this.element)
    this.#unfollow = followTheme((theme) => {
      this.#terminal.options.theme = theme
    })
  }

  get size(): ScreenSize {
    const { cols, rows } = this.#terminal
    return { cols, rows }
  }

  /** Puts the screen into a place of the page. `helpId` is the id of the text about its keys. */
  mount(place: HTMLElement, helpId: string): void {
    place.append(this.element)
    if (!this.#isOpened) withoutStyleElements(() => this.#terminal.open(this.element))
    this.#isOpened = true
    this.#terminal.textarea?.setAttribute('aria-describedby', helpId)
    this.#resize()
  }

  focus(): void {
    this.#terminal.focus()
  }

  /** Writes output. Resolves when it is on the screen. `answers` is true if its queries count. */
  async write(data: Uint8Array, { answers }: { readonly answers: boolean }): Promise<void> {
    this.#answers = answers
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      this.#terminal.write(data, resolve)
    })
    this.#answers = true
  }

  /** Types a text as if it were pasted. */
  paste(text: string): void {
    this.#terminal.paste(pastedText(text))
    this.focus()
  }

  /** Types a key. */
  press(key: string): void {
    this.#terminal.input(key, true)
    this.focus()
  }

  /** Follows the size of its element, or takes the size that another writer has set. */
  follow(size: ScreenSize | null): void {
    this.#fits = size === null
    if (size === null) this.#resize()
    else this.#terminal.resize(Math.min(size.cols, most.cols), Math.min(size.rows, most.rows))
  }

  /** Makes the output readable for readers of screens. */
  readAloud(isOn: boolean): void {
    this.#terminal.options.screenReaderMode = isOn
  }

  dispose(): void {
    this.#observer.disconnect()
    this.#unfollow()
    this.#terminal.dispose()
    this.#wake() // Output that waits is not written any more.
    this.element.remove()
  }

  #resize(): void {
    if (this.#isOpened && this.#fits && this.element.isConnected && this.element.clientWidth > 0) this.#fit.fit()
  }

  /** Returns false for the keys of the console itself. */
  #passes(event: KeyboardEvent): boolean {
    const { type, key, ctrlKey, shiftKey, altKey, metaKey } = event
    if (!ctrlKey || altKey || metaKey) return true
    if (key === 'm' && !shiftKey) {
      // The shell has Enter for this.
      event.preventDefault()
      if (type === 'keydown') this.onLeave()
      return false
    }
    if (key !== 'C' || !shiftKey || !this.#terminal.hasSelection()) return true
    event.preventDefault()
    if (type === 'keydown') void navigator.clipboard.writeText(this.#terminal.getSelection()).catch(() => {}) // Copying was refused.
    return false
  }

  #paste(event: ClipboardEvent): void {
    event.preventDefault()
    event.stopPropagation()
    this.paste(event.clipboardData?.getData('text/plain') ?? '')
  }
}
