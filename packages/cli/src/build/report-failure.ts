import type { BuildFailed, BuildLogLine } from '@holt/sdk'
import { translateHint } from '../errors/hint-of.ts'
import { say, styled } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { shellWord } from '../shell/shell-word.ts'
import { isStepTitle, plainText } from './build-view.ts'

/** Prints why a build failed: the failed step, the end of its output, and the remedy. */
export function reportFailure(
  failure: BuildFailed,
  { tail, keptLines }: { readonly tail: readonly BuildLogLine[]; readonly keptLines: number },
): void {
  const { build, reason, step, message, hint } = failure
  if (reason === 'cancelled') {
    say(`holt: the build of ${build.name}:${build.tag} was cancelled`)
    return
  }
  const failed = build.steps.find((one) => one.step === step)
  const where = failed?.line == null ? '' : ` (line ${failed.line})`
  const isOurs = (line: BuildLogLine) =>
    !['debug', 'error'].includes(line.level) && !isStepTitle(line, build) && (step === null || line.step === step)
  const ours = tail.filter(isOurs).slice(-keptLines)
  for (const { message: text } of ours) say(styled('dim', `  │ ${plainText(text)}`))
  if (failed !== undefined) say(`${styled('red', '✗')} step ${failed.step}${where}: ${printable(failed.text)}`)
  const lines = message.split('\n').map(printable)
  say(`${styled('red', 'error')}: ${reason}: ${lines.join('\n  ')}`)
  say(`${styled('yellow', 'hint')}: ${printable(translateHint(build.reason?.hint ?? hint))}`)
  say(`build: ${build.build_id}   its whole log: holt template logs ${shellWord(build.build_id)}`)
}
