import { stripVTControlCharacters } from 'node:util'
import type { Build, BuildLogLine, BuildStepState } from '@holt/sdk'
import { printable } from '../output/visible.ts'

/** Shows people how a build goes. */
export interface BuildView {
  /** The build as it is now. */
  readonly status: (build: Build) => void
  readonly log: (line: BuildLogLine) => void
  /** Says something of our own. */
  readonly note: (text: string) => void
  /** No more comes: takes away what is only for the moment. */
  readonly end: () => void
}

/**
 * A line of output as it would stand on a terminal: without colours, and of what was overwritten
 * only the last.
 */
export function plainText(message: string): string {
  const shown = stripVTControlCharacters(message).trimEnd()
  return printable(shown.slice(shown.lastIndexOf('\r') + 1).replace(/\p{Cc}+/gu, ' '))
}

/**
 * Returns the steps that are counted: instructions, and not what Holt does after them, which begins
 * with the export.
 */
export function countedSteps(steps: readonly BuildStepState[]): readonly BuildStepState[] {
  const end = steps.findLastIndex(({ text, line }) => line === null && text === 'Export the image')
  return end < 0 ? steps : steps.slice(0, end)
}

/**
 * `[2/5] RUN npm ci`, or `[build 2/5] RUN npm ci` in a stage that has a name. A step that is not
 * counted has no number.
 */
export function stepTitle(step: BuildStepState, steps: readonly BuildStepState[]): string {
  const total = countedSteps(steps).length
  if (step.step > total) return printable(step.text)
  const number = String(step.step).padStart(String(total).length)
  const stage = step.stage === null || /^\d+$/.test(step.stage) ? '' : `${printable(step.stage)} `
  return `[${stage}${number}/${total}] ${printable(step.text)}`
}

/** True for a line of the log that only names its step, as the steps themselves do. */
export function isStepTitle({ step, message }: BuildLogLine, build: Build | null): boolean {
  const title = build?.steps.find((one) => one.step === step)?.text
  return title !== undefined && message.replace(/^\[\d+\/\d+\] | \(cached\)$/g, '') === title
}

/**
 * True for the lines of the log that repeat the reason of the failure, which is told when the build
 * has ended.
 */
export function isToldAtTheEnd(level: BuildLogLine['level']): boolean {
  return level === 'error'
}

/** Formats a duration: `0.4s`, `12.3s`, `4m05s`. */
export function duration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`
}
