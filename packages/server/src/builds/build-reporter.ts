import type { BuildReport } from '@holt/builder'
import { failpoint } from '@holt/failpoints'
import type { BuildStatus, BuildStepState, Ignored } from '@holt/protocol'
import { aloneWith } from '../foundation/store/alone.ts'
import { moment } from '../foundation/store/moment.ts'
import { redactAll } from '../resources/secrets/redact.ts'
import { recordEvent } from '../tenancy/events/record-event.ts'
import { mayFollow } from './build-states.ts'
import type { Builds } from './builds.ts'
import { type BuildRef, buildRow } from './find-build.ts'

/** The longest delay of step changes in the database, in milliseconds. */
const stepsMs = 200

/** The build, and the values to redact. */
interface Told extends BuildRef {
  readonly templateId: string
  /** Removes the values of secrets from a text. */
  readonly redact: (text: string) => string
}

/**
 * Records the progress of a build: statuses and steps in its row, and lines in its log. Never
 * throws, and does not block the build.
 */
export class BuildReporter implements BuildReport {
  readonly #service: Builds
  readonly #told: Told
  #writing: Promise<void> = Promise.resolve()
  #steps: readonly BuildStepState[] = []
  #ignored: readonly Ignored[] = []
  #stepsDirty = false
  #timer: NodeJS.Timeout | null = null
  #hasEnded = false

  constructor(service: Builds, told: Told) {
    this.#service = service
    this.#told = told
  }

  /** Removes the values of secrets from a text. */
  get redact(): (text: string) => string {
    return this.#told.redact
  }

  status(status: BuildStatus): void {
    this.#later(() => this.#writeStatus(status))
  }

  steps(steps: readonly BuildStepState[]): void {
    const { redact, templateId } = this.#told
    this.#steps = steps.map((step) => ({ ...step, text: redact(step.text) }))
    this.#stepsDirty = true
    const done = steps.filter(({ state }) => state !== 'waiting' && state !== 'running').length
    this.#service.templateProgress.set(templateId, {
      phase: this.#running?.text ?? 'building',
      done,
      total: steps.length,
    })
    this.#timer ??= setTimeout(() => this.#later(() => this.#writeSteps()), stepsMs).unref()
  }

  ignored(ignored: readonly Ignored[]): void {
    this.#ignored = redactAll(ignored, this.redact) as readonly Ignored[]
    this.#stepsDirty = true
  }

  /** Ignores later lines, which a stopped build may still write. */
  end(): void {
    this.#hasEnded = true
  }

  log({ level, step, message }: Parameters<BuildReport['log']>[0]): void {
    if (this.#hasEnded) return
    const { buildId, redact } = this.#told
    const at = moment(this.#service.now())
    for (const line of redact(message)
      .replace(/\r?\n$/, '')
      .split('\n'))
      this.#service.builds.logs.write(buildId, { at, level, step, message: line.replace(/\r$/, '') })
  }

  /** Logs a message for the running step. */
  logOfStep(level: 'debug' | 'warn', message: string): void {
    this.log({ level, step: this.#running?.step ?? null, message })
  }

  /** Writes the waiting changes, and resolves when all are written. */
  async flush(): Promise<void> {
    this.#later(() => this.#writeSteps())
    await this.#writing
  }

  /** Returns the steps at the end of a build. Running and waiting ones become `left`. */
  endedSteps(left: 'failed' | 'skipped'): readonly BuildStepState[] {
    return this.#steps.map((step) =>
      step.state === 'running'
        ? { ...step, state: left }
        : step.state === 'waiting'
          ? { ...step, state: 'skipped' }
          : step,
    )
  }

  get #running(): BuildStepState | undefined {
    return this.#steps.find(({ state }) => state === 'running')
  }

  #later(write: () => Promise<void>): void {
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      // The end of the build writes all of it once more.
      this.#service.log.warn(
        { err: error, build_id: this.#told.buildId },
        'the progress of a build could not be written',
      )
    })
  }

  async #writeStatus(status: BuildStatus): Promise<void> {
    const { projectId, buildId } = this.#told
    const { store, now, builds } = this.#service
    await store.change(aloneWith(projectId), async (changes) => {
      const row = await buildRow(changes, this.#told)
      if (row === undefined || !mayFollow(row.status, status)) return
      const at = now()
      await changes
        .updateTable('builds')
        .set({ status, started_at: row.started_at ?? at })
        .where('project_id', '=', projectId)
        .where('build_id', '=', buildId)
        .execute()
      const data = { from: row.status, to: status }
      await recordEvent(changes, { projectId, type: `build.${status}`, subjectId: buildId, data, at })
    })
    await failpoint('build.told')
    builds.logs.notify(buildId)
  }

  async #writeSteps(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (!this.#stepsDirty) return
    this.#stepsDirty = false
    const { projectId, buildId } = this.#told
    await this.#service.store.db
      .updateTable('builds')
      .set({ steps_json: JSON.stringify(this.#steps), ignored_json: JSON.stringify(this.#ignored) })
      .where('project_id', '=', projectId)
      .where('build_id', '=', buildId)
      .where('ended_at', 'is', null)
      .execute()
  }
}
