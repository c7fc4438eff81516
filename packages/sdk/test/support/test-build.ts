import {
  type Build,
  type BuildFailureCode,
  type BuildLogItem,
  type BuildStatus,
  type BuildStepState,
  type CreateBuild,
  finalBuildStatuses,
  makeId,
} from '@holt/protocol'
import { now } from './samples.ts'

type Reason = NonNullable<Build['reason']>

/** A build that does what its test says. */
export class TestBuild {
  readonly body: Partial<CreateBuild>
  readonly data: Build
  readonly items: BuildLogItem[] = []
  /** Called when the build became a template. */
  onReady: () => void = () => undefined
  readonly #waiting = new Set<() => void>()

  constructor(body: Partial<CreateBuild> & { readonly name: string; readonly tag: string }, templateId: string) {
    this.body = body
    this.data = {
      build_id: makeId('build'),
      template_id: templateId as Build['template_id'],
      name: body.name,
      tag: body.tag,
      status: 'queued',
      reason: null,
      warnings: [],
      ignored: [],
      steps: [],
      image_digest: null,
      size_bytes: null,
      created_at: now(),
      started_at: null,
      ended_at: null,
      duration_ms: null,
    }
  }

  get ended(): boolean {
    return (finalBuildStatuses as readonly string[]).includes(this.data.status)
  }

  /** Adds steps, or changes those of the same number. */
  step(step: number, text: string, state: BuildStepState['state'], durationMs: number | null = null): void {
    const next = { step, text, stage: null, line: step, state, duration_ms: durationMs }
    this.data.steps = [...this.data.steps.filter((one) => one.step !== step), next].sort((a, b) => a.step - b.step)
  }

  log(message: string, step: number | null = null, level: 'debug' | 'info' | 'warn' | 'error' = 'info'): void {
    this.#add({ type: 'log', cursor: this.items.length + 1, at: now(), level, step, message })
  }

  gap(lost: number): void {
    this.#add({ type: 'gap', cursor: this.items.length + 1, lost })
  }

  status(status: BuildStatus): void {
    this.data.status = status
    this.data.started_at ??= now()
    if (!this.ended) return
    this.data.ended_at = now()
    this.data.duration_ms = 1234
    this.#add({ type: 'end', cursor: this.items.length + 1, status })
  }

  succeed(): void {
    Object.assign(this.data, { size_bytes: 123_000_000 })
    this.onReady()
    this.status('ready')
  }

  fail(code: BuildFailureCode, message: string, more: Partial<Reason> = {}): void {
    this.data.reason = { code, message, step: null, hint: null, details: {}, ...more }
    this.status('failed')
  }

  /** Resolves when there are more items than `seen`, or none will come. */
  async more(seen: number): Promise<void> {
    if (this.items.length > seen || this.ended) return
    await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  #add(item: BuildLogItem): void {
    this.items.push(item)
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
