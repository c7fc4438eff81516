import { type Build, BuildFailed, type BuildLogLine, type CreateRuntimeInput, type Runtime } from '@holt/sdk'
import { fittingKind, viewOf } from '../build/choose-view.ts'
import { reportFailure } from '../build/report-failure.ts'
import { connect } from '../connection/connect.ts'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { shellWord } from '../shell/shell-word.ts'
import { Interrupts } from '../verb/interrupts.ts'

/**
 * The time after which a create is reported as slow, in milliseconds. It takes less unless the
 * service is busy or does not answer.
 */
const silentMs = 5_000

/** The number of output lines that are printed with a failure. */
const keptLines = 15

/**
 * Creates a runtime. If its template must be built first, the build is shown. Returns null after a
 * reported failure: the build failed, or Ctrl-C ended the wait for it. Ctrl-C ends the wait alone:
 * the build continues.
 */
export async function createRuntime(body: CreateRuntimeInput): Promise<Runtime | null> {
  const stop = new AbortController()
  const holt = connect()
  const shown = new ShownBuild(() => stop.abort())
  const timer = setTimeout(() => {
    if (shown.id === null) say(`holt: no answer from Holt at ${printable(holt.url)} yet; check it: holt status`)
  }, silentMs)
  try {
    return await holt.runtimes.create(body, {
      signal: stop.signal,
      building: { onStatus: (build) => shown.status(build), onLog: (line) => shown.log(line) },
    })
  } catch (error) {
    shown.end()
    if (stop.signal.aborted) say(`holt: the build continues: holt template logs -f ${shellWord(shown.id ?? '')}`)
    else if (error instanceof BuildFailed) reportFailure(error, { tail: shown.tail, keptLines })
    else throw error
    return null
  } finally {
    clearTimeout(timer)
    shown.end()
  }
}

/** The view of a build, from its first status on, and the signals that end the wait for it. */
class ShownBuild {
  readonly #kind = fittingKind()
  readonly #onInterrupt: () => void
  /** The end of its log. */
  readonly #lines: BuildLogLine[] = []
  #view: ReturnType<typeof viewOf> | null = null
  #interrupts: Interrupts | null = null
  #id: string | null = null

  constructor(onInterrupt: () => void) {
    this.#onInterrupt = onInterrupt
  }

  get id(): string | null {
    return this.#id
  }

  /** The lines that are not on the screen any more. */
  get tail(): readonly BuildLogLine[] {
    return this.#kind === 'plain' ? [] : this.#lines
  }

  status(build: Build): void {
    if (this.#id !== build.build_id) this.#begin(build)
    this.#view?.status(build)
    if (build.ended_at !== null) this.#interrupts?.[Symbol.dispose]()
  }

  log(line: BuildLogLine): void {
    this.#view?.log(line)
    this.#lines.push(line)
    if (this.#lines.length > 10 * keptLines) this.#lines.splice(0, this.#lines.length - 5 * keptLines)
  }

  end(): void {
    this.#interrupts?.[Symbol.dispose]()
    this.#view?.end()
    this.#view = null
  }

  #begin({ build_id, name }: Build): void {
    this.end()
    this.#id = build_id
    say(`holt: the template ${name} is built first; this happens only once`)
    this.#interrupts = new Interrupts()
    this.#interrupts.passOn(async () => this.#onInterrupt())
    this.#view = viewOf(this.#kind)
    // Lines may arrive before the first status of the build.
    for (const line of this.#lines) this.#view.log(line)
  }
}
