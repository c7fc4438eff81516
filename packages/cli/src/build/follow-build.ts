import { BuildFailed, type BuildHandle, type BuildLogLine } from '@holt/sdk'
import { print, printJson, say, styled } from '../output/print.ts'
import { mib } from '../output/table.ts'
import { printable } from '../output/visible.ts'
import { shellWord } from '../shell/shell-word.ts'
import { type Interrupts, interruptedExitCode } from '../verb/interrupts.ts'
import type { BuildView } from './build-view.ts'
import { countedSteps, duration } from './build-view.ts'
import { fittingKind, type ProgressKind, viewOf } from './choose-view.ts'
import { reportFailure } from './report-failure.ts'

/** Options for following a build. */
export interface FollowOptions {
  readonly interrupts: Interrupts
  readonly progress: ProgressKind | undefined
  readonly json: boolean
}

const failedExitCode = 1
/** The number of output lines that are printed with a failure. */
const keptLines = 15

/**
 * Shows a build until it has ended, and returns the exit code. The first Ctrl-C cancels the build.
 * The second ends this process and leaves the build as it is. Prints the id of the template, or
 * with `json` the build.
 */
export async function followBuild(build: BuildHandle, options: FollowOptions): Promise<number> {
  const { interrupts, json } = options
  const left = new AbortController()
  const kind = options.progress ?? fittingKind()
  const view = viewOf(kind)
  const tail: BuildLogLine[] = []
  interrupts.passOn((_signal, count) => interrupted(build, { count, left, view }))
  try {
    await build.wait({
      signal: left.signal,
      onStatus: (now) => view.status(now),
      onLog: (line) => {
        view.log(line)
        tail.push(line)
        if (tail.length > 10 * keptLines) tail.splice(0, tail.length - 5 * keptLines)
      },
    })
  } catch (error) {
    view.end()
    if (left.signal.aborted) {
      say(`holt: left the build ${build.build_id}; follow its log: holt template logs -f ${shellWord(build.build_id)}`)
      return interruptedExitCode
    }
    if (!(error instanceof BuildFailed)) throw error
    if (json) printJson(build)
    reportFailure(error, { tail: kind === 'plain' ? [] : tail, keptLines })
    return error.reason === 'cancelled' && interrupts.first !== null ? interruptedExitCode : failedExitCode
  }
  view.end()
  if (json) printJson(build)
  else tellReady(build)
  return 0
}

async function interrupted(
  build: BuildHandle,
  { count, left, view }: { readonly count: number; readonly left: AbortController; readonly view: BuildView },
): Promise<void> {
  if (count > 1) {
    left.abort()
    return
  }
  view.note('cancelling the build; Ctrl-C again leaves it')
  try {
    await build.cancel({ signal: left.signal })
  } catch (error) {
    if (left.signal.aborted) return
    const why = error instanceof Error ? error.message : String(error)
    view.note(`it could not be cancelled: ${printable(why)}; Ctrl-C again leaves it`)
  }
}

function tellReady(build: BuildHandle): void {
  const { name, tag, duration_ms, size_bytes, ignored, steps } = build
  const label = tag === 'latest' ? name : `${name}:${tag}`
  const counted = countedSteps(steps)
  const cached = counted.filter(({ state }) => state === 'cached').length
  const facts = [
    duration_ms === null ? '' : `in ${duration(duration_ms)}`,
    cached === 0 ? '' : `${cached} of ${counted.length} steps cached`,
    size_bytes === null ? '' : mib(Math.ceil(size_bytes / 2 ** 20)),
  ].filter((one) => one !== '')
  for (const { instruction, line, reason } of ignored)
    say(`holt: left out ${instruction}${line === null ? '' : ` (line ${line})`}: ${reason}`)
  say(`${styled('green', '✓')} ${label} is ready${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`)
  say(`  holt run -t ${shellWord(label)} -- COMMAND`)
  print(build.template_id)
}
