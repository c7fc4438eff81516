import { type Build, type BuildLogItem, type BuildLogLine, finalBuildStatuses } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { Broken } from '../transport/broken.ts'
import { sleep } from '../transport/retry.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'

/** The options for waiting for a build. */
export interface WaitForBuildOptions extends CallOptions {
  /**
   * The time limit in seconds. After it the wait fails with the error `timeout`, and the build
   * continues. Default: no limit.
   */
  readonly timeoutSecs?: number
  /**
   * Called for each line of the log, from the first. Lines that are no longer kept are replaced by
   * one of level `warn`.
   */
  readonly onLog?: (line: BuildLogLine) => void
  /** Called with the build at first, and whenever its status or a step has changed. */
  readonly onStatus?: (build: Build) => void
}

/**
 * The first pause between two polls. Polls are frequent at first, because many builds are all
 * cached, and then rarer.
 */
const firstPollMs = 100
const longestPollMs = 1_000
/** The time to wait for the end of the log after the end of its build, in milliseconds. */
const logEndMs = 30_000

/** Returns true for a build that has ended. */
function hasEnded({ status }: Pick<Build, 'status'>): boolean {
  return (finalBuildStatuses as readonly string[]).includes(status)
}

/** Waits until a build has ended, also over restarts of the service, and returns it. */
export async function waitForBuild(job: {
  readonly transport: Transport
  readonly buildId: string
  readonly readLog: (signal: AbortSignal) => AsyncIterable<BuildLogItem>
  readonly options: WaitForBuildOptions
}): Promise<Build> {
  const { transport, buildId, options } = job
  const stop = new AbortController()
  const limit = options.timeoutSecs === undefined ? null : AbortSignal.timeout(options.timeoutSecs * 1000)
  const ends = [stop.signal, limit, options.signal].filter((one) => one !== null && one !== undefined)
  const signal = AbortSignal.any(ends)
  const bell = new Bell()
  const log = options.onLog === undefined ? null : passOn(job.readLog(signal), options.onLog, bell)
  try {
    const polling = pollUntilEnded({ transport, buildId, onStatus: options.onStatus, signal, bell })
    // An unreadable log ends the wait. A log that has ended does not.
    const build = await Promise.race([polling, ...(log === null ? [] : [log.then(() => polling)])])
    if (log !== null) await Promise.race([log, sleep(logEndMs, signal)])
    return build
  } catch (error) {
    options.signal?.throwIfAborted()
    if (limit?.aborted !== true) throw error
    throw new HoltError('timeout', `The build ${buildId} has not ended after ${options.timeoutSecs} s`, {
      hint: 'The build continues. Wait for it again, or cancel it.',
      details: { build_id: buildId },
    })
  } finally {
    stop.abort()
    await log?.catch(() => undefined) // What it failed with was thrown above, or came from the stop.
  }
}

async function pollUntilEnded(job: {
  readonly transport: Transport
  readonly buildId: string
  readonly onStatus: ((build: Build) => void) | undefined
  readonly signal: AbortSignal
  /** The bell that rings when the build should be polled at once. */
  readonly bell: Bell
}): Promise<Build> {
  const { transport, buildId, onStatus, signal, bell } = job
  const broken = new Broken(transport.options.resumeTimeoutMs, signal)
  let before = ''
  for (let pollMs = firstPollMs; ; pollMs = Math.min(longestPollMs, pollMs * 1.3)) {
    const build = await ask(transport, buildId, { broken, signal })
    const now = JSON.stringify([build.status, build.steps, build.warnings])
    if (now !== before) onStatus?.(build)
    before = now
    if (hasEnded(build)) return build
    await Promise.race([sleep(pollMs, signal), bell.rung()])
  }
}

/** Lets one task wait for a signal of another. */
class Bell {
  #hasRung = false
  #wake: () => void = () => undefined

  /** Resolves when the bell rings, or at once if it has rung since the last call. */
  async rung(): Promise<void> {
    if (!this.#hasRung)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    this.#hasRung = false
  }

  ring(): void {
    this.#hasRung = true
    this.#wake()
  }
}

async function ask(
  transport: Transport,
  buildId: string,
  { broken, signal }: { broken: Broken; signal: AbortSignal },
): Promise<Build> {
  for (;;) {
    try {
      const build = await transport.call('getBuild', { params: { build_id: buildId }, signal })
      broken.mended()
      return build
    } catch (error) {
      await broken.pause(error)
    }
  }
}

/**
 * Passes the log on. Rings when another step begins to write, and at the end, because the steps
 * have changed.
 */
async function passOn(
  items: AsyncIterable<BuildLogItem>,
  onLog: (line: BuildLogLine) => void,
  bell: Bell,
): Promise<void> {
  let step: number | null = null
  for await (const item of items) {
    if (item.type === 'log') onLog(item)
    else if (item.type === 'gap') onLog(gapLine(item))
    if (item.type === 'end' || (item.type === 'log' && item.step !== step)) bell.ring()
    if (item.type === 'log') step = item.step
  }
}

/** Returns the line that replaces dropped lines of a log. */
function gapLine({ cursor, lost }: Extract<BuildLogItem, { type: 'gap' }>): BuildLogLine {
  const message = `${lost} lines of the log are no longer kept`
  return { type: 'log', cursor, at: new Date().toISOString(), level: 'warn', step: null, message }
}
