import { stripVTControlCharacters } from 'node:util'
import type { Build, BuildLogLine, BuildStepState } from '@holt/sdk'
import { printable } from '../output/visible.ts'

/** The display of a build. */
export interface BuildView {
  /** Shows the present state of the build. */
  readonly status: (build: Build) => void
  readonly log: (line: BuildLogLine) => void
  /** Prints a message of our own. */
  readonly note: (text: string) => void
  /** Ends the view, and removes its temporary lines. */
  readonly end: () => void
}

/**
 * Returns a line of output as a terminal would leave it: without colours, and only the last of
 * overwritten texts.
 */
export function plainText(message: string): string {
  const shown = stripVTControlCharacters(message).trimEnd()
  return printable(shown.slice(shown.lastIndexOf('\r') + 1).replace(/\p{Cc}+/gu, ' '))
}

/**
 * Returns the steps that are counted: the instructions, without Holt's own steps from the export
 * on.
 */
export function countedSteps(steps: readonly BuildStepState[]): readonly BuildStepState[] {
  const end = steps.findLastIndex(({ text, line }) => line === null && text === 'Export the image')
  return end < 0 ? steps : steps.slice(0, end)
}

/**
 * Returns `[2/5] RUN npm ci`, or `[build 2/5] RUN npm ci` in a named stage. A step that is not
 * counted has no number.
 */
export function stepTitle(step: BuildStepState, steps: readonly BuildStepState[]): string {
  const total = countedSteps(steps).length
  if (step.step > total) return printable(step.text)
  const number = String(step.step).padStart(String(total).length)
  const stage = step.stage === null || /^\d+$/.test(step.stage) ? '' : `${printable(step.stage)} `
  return `[${stage}${number}/${total}] ${printable(step.text)}`
}

/** Returns true for a line of the log that only names its step, as the steps themselves do. */
export function isStepTitle({ step, message }: BuildLogLine, build: Build | null): boolean {
  const title = build?.steps.find((one) => one.step === step)?.text
  return title !== undefined && message.replace(/^\[\d+\/\d+\] | \(cached\)$/g, '') === title
}

/**
 * Returns true for the lines of the log that repeat the reason of the failure, which is printed at
 * the end of the build.
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
