import { type Build, type BuildLogItem, type BuildLogLine, finalBuildStatuses } from '@holt/protocol'
import { Broken } from '../content/broken.ts'
import { HoltError } from '../errors.ts'
import { sleep } from '../retry.ts'
import type { CallOptions, Transport } from '../transport.ts'

/** How a build is waited for. */
export interface WaitForBuildOptions extends CallOptions {
  /**
   * Gives up after so long, with the error `timeout`; the build goes on. Default: as long as it
   * takes.
   */
  readonly timeoutSecs?: number
  /**
   * Hears each line of the log, from the first. Lines that the service no longer keeps are one of
   * level `warn` that says so.
   */
  readonly onLog?: (line: BuildLogLine) => void
  /** Hears of the build at first and whenever its status or a step has changed. */
  readonly onStatus?: (build: Build) => void
}

/** Asked often at first, since many builds are all cached, and then as often as people look. */
const firstPollMs = 100
const longestPollMs = 1_000
/** A log ends with its build; one that is silent so long after it is not waited for. */
const logEndMs = 30_000

/** True for a build that has ended. */
function hasEnded({ status }: Pick<Build, 'status'>): boolean {
  return (finalBuildStatuses as readonly string[]).includes(status)
}

/** Waits until a build has ended, over restarts of the service as well, and answers it. */
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
    // A log that cannot be read ends the wait; one that has ended does not.
    const build = await Promise.race([polling, ...(log === null ? [] : [log.then(() => polling)])])
    if (log !== null) await Promise.race([log, sleep(logEndMs, signal)])
    return build
  } catch (error) {
    options.signal?.throwIfAborted()
    if (limit?.aborted !== true) throw error
    throw new HoltError('timeout', `The build ${buildId} has not ended after ${options.timeoutSecs} s`, {
      hint: 'It goes on: wait for it again, or cancel it.',
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
  /** Rings when it is worth asking at once. */
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

/** Lets one wait for what another notices. */
class Bell {
  #hasRung = false
  #wake: () => void = () => undefined

  /** Resolves when it rings, or at once when it has since this was asked last. */
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
 * Passes the log on, and rings when another step begins to write and at the end: the steps are not
 * what they were.
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

/** What stands in a log for lines that were dropped. */
function gapLine({ cursor, lost }: Extract<BuildLogItem, { type: 'gap' }>): BuildLogLine {
  const message = `${lost} lines of the log are no longer kept`
  return { type: 'log', cursor, at: new Date().toISOString(), level: 'warn', step: null, message }
}
