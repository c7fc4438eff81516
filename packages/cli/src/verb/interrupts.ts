import { say } from '../output/print.ts'

/** The exit code after Ctrl-C, as a shell reports an end by SIGINT. */
export const interruptedExitCode = 130

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Passed = (typeof signals)[number]
/** Handles a signal. `count` is the number of signals so far. */
type Receiver = (signal: Passed, count: number) => Promise<void>

/**
 * Holds back the signals that would end this process, so that work can be finished or the signals
 * passed on. A third signal ends it.
 */
export class Interrupts implements Disposable {
  #count = 0
  #receiver: Receiver | null = null
  #first: Passed | null = null
  readonly #listeners = signals.map((signal) => ({ signal, listener: () => this.#take(signal) }))

  constructor() {
    for (const { signal, listener } of this.#listeners) process.on(signal, listener)
  }

  /** The first signal; null if there was none. */
  get first(): Passed | null {
    return this.#first
  }

  /** Returns the exit code of a verb that runs until a signal: 130 after Ctrl-C, else 0. */
  get endCode(): number {
    return this.#first === 'SIGINT' ? interruptedExitCode : 0
  }

  /** Passes each signal to a receiver from now on, including earlier ones. */
  passOn(receiver: Receiver): void {
    this.#receiver = receiver
    if (this.#first !== null) void receiver(this.#first, this.#count)
  }

  [Symbol.dispose](): void {
    for (const { signal, listener } of this.#listeners) process.off(signal, listener)
  }

  #take(signal: Passed): void {
    this.#count += 1
    this.#first ??= signal
    if (this.#count > 2) {
      say('holt: ended at once; some runtimes may remain: holt ls')
      process.exit(interruptedExitCode)
    }
    if (this.#receiver !== null) void this.#receiver(signal, this.#count)
  }
}
