import type { Build, BuildLogLine, BuildStepState } from '@holt/sdk'
import { say } from '../output/print.ts'
import { type BuildView, duration, isStepTitle, isToldAtTheEnd, plainText, stepTitle } from './build-view.ts'

/** A view with a line for each event, for logs and pipes. */
export class PlainView implements BuildView {
  readonly #told = new Map<number, BuildStepState['state']>()
  #build: Build | null = null
  #warnings = 0

  status(build: Build): void {
    const before = this.#build?.status
    this.#build = build
    const tellStatus = () => {
      if (build.status !== before) say(`holt: ${build.status} ${build.name}:${build.tag}`)
    }
    // The end is printed after the steps that led to it.
    if (build.ended_at === null) tellStatus()
    for (const step of build.steps) this.#step(step)
    if (build.ended_at !== null) tellStatus()
    for (const warning of build.warnings.slice(this.#warnings)) say(`holt: warning: ${plainText(warning)}`)
    this.#warnings = build.warnings.length
  }

  log(line: BuildLogLine): void {
    const { level, step, message } = line
    if (isToldAtTheEnd(level) || level === 'debug' || isStepTitle(line, this.#build)) return
    if (step !== null) this.#begin(step)
    say(`${step === null ? '' : `#${step} `}${level === 'info' ? '' : `${level}: `}${plainText(message)}`)
  }

  note(text: string): void {
    say(`holt: ${text}`)
  }

  end(): void {
    // All lines are permanent.
  }

  #step(step: BuildStepState): void {
    if (['waiting', 'skipped', this.#told.get(step.step)].includes(step.state)) return
    this.#begin(step.step)
    this.#told.set(step.step, step.state)
    if (step.state === 'running') return
    const time = step.duration_ms === null || step.state === 'cached' ? '' : ` ${duration(step.duration_ms)}`
    say(`#${step.step} ${step.state}${time}`)
  }

  /** Prints the title of a step before its first output or state. */
  #begin(number: number): void {
    if (this.#told.has(number)) return
    const step = this.#build?.steps.find((one) => one.step === number)
    if (step === undefined || this.#build === null) return
    this.#told.set(number, 'running')
    say(`#${number} ${stepTitle(step, this.#build.steps)}`)
  }
}
