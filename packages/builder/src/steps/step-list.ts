import type { BuildStepState } from '@holt/protocol'
import type { BuildReport } from '../contract/build-contract.ts'

/** A step before it has run. */
export interface StepName {
  readonly text: string
  readonly stage: string | null
  readonly line: number | null
  /** False for steps that Holt adds after the instructions. */
  readonly isCounted?: boolean
}

/** The steps of a build as they are shown. Every change is reported. */
export class StepList {
  readonly #report: BuildReport
  readonly #steps: BuildStepState[] = []
  /** The number of steps that are counted in the log. */
  #counted = 0
  readonly #startedAt = new Map<number, number>()
  /** The running step, from 1, or null between steps. */
  current: number | null = null

  constructor(report: BuildReport) {
    this.#report = report
  }

  /** Adds a step at the end and returns its number. */
  add({ text, stage, line, isCounted = true }: StepName): number {
    const step = this.#steps.length + 1
    if (isCounted) this.#counted = step
    this.#steps.push({ step, text, stage, line, state: 'waiting', duration_ms: null })
    return step
  }

  /** Reports all steps, once they are known. */
  announce(): void {
    this.#tell()
  }

  start(step: number): void {
    this.current = step
    this.#startedAt.set(step, performance.now())
    this.#change(step, { state: 'running' })
    this.#tellStep(step, '')
  }

  done(step: number): void {
    this.#end(step, 'done')
  }

  /** Marks a step whose result already exists. */
  cached(step: number): void {
    this.#change(step, { state: 'cached', duration_ms: 0 })
    const wasTold = this.current === step
    if (wasTold) this.current = null
    else this.#tellStep(step, ' (cached)')
  }

  /** Marks all waiting steps as cached. */
  cachedAll(): void {
    for (const { step, state } of [...this.#steps]) if (state === 'waiting') this.cached(step)
  }

  /** Marks the running step as failed and the waiting steps as skipped. */
  fail(): void {
    if (this.current !== null) this.#end(this.current, 'failed')
    this.skipWaiting()
  }

  skipWaiting(): void {
    for (const [index, step] of this.#steps.entries())
      if (step.state === 'waiting') this.#steps[index] = { ...step, state: 'skipped' }
    this.#tell()
  }

  #end(step: number, state: 'done' | 'failed'): void {
    const durationMs = Math.round(performance.now() - (this.#startedAt.get(step) ?? performance.now()))
    this.current = null
    this.#change(step, { state, duration_ms: durationMs })
  }

  #change(step: number, change: Partial<BuildStepState>): void {
    const before = this.#steps[step - 1]
    if (before === undefined) throw new Error(`there is no step ${step}`)
    this.#steps[step - 1] = { ...before, ...change }
    this.#tell()
  }

  #tellStep(step: number, how: string): void {
    const number = step > this.#counted ? '' : `[${step}/${this.#counted}] `
    const message = `${number}${this.#steps[step - 1]?.text ?? ''}${how}`
    this.#report.log({ level: 'info', step, message })
  }

  #tell(): void {
    this.#report.steps([...this.#steps])
  }
}
