import type { Build, BuildLogLine, BuildStepState } from '@holt/sdk'
import { LiveRegion } from '../output/live-region.ts'
import { styled } from '../output/print.ts'
import { type BuildView, duration, isStepTitle, isToldAtTheEnd, plainText, stepTitle } from './build-view.ts'

const drawEveryMs = 100
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** The number of output lines that are shown of a running step. */
const tailLines = 6

type Style = Parameters<typeof styled>[0]
const marks: Readonly<Partial<Record<BuildStepState['state'], readonly [Style, string]>>> = {
  done: ['green', '✓'],
  cached: ['cyan', '✓'],
  failed: ['red', '✗'],
}

/**
 * The steps on a terminal. Finished steps scroll away. The running step has its time and the end of
 * its output.
 */
export class LiveView implements BuildView {
  readonly #region: LiveRegion
  readonly #stream: NodeJS.WriteStream
  readonly #timer: NodeJS.Timeout
  readonly #begunMs = performance.now()
  readonly #running = new Map<number, number>()
  readonly #settled = new Set<number>()
  readonly #redraw = () => this.#draw()
  #tail: string[] = []
  #tailStep: number | null = null
  #build: Build | null = null
  #above: string[] = []
  #warnings = 0
  #turn = 0

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#region = new LiveRegion(stream)
    this.#timer = setInterval(this.#redraw, drawEveryMs)
    stream.on('resize', this.#redraw)
  }

  status(build: Build): void {
    this.#build = build
    for (const step of build.steps) {
      if (step.state === 'running' && !this.#running.has(step.step)) this.#running.set(step.step, performance.now())
      const mark = marks[step.state]
      if (mark === undefined || this.#settled.has(step.step)) continue
      this.#settled.add(step.step)
      const time = step.state === 'cached' ? 'cached' : step.duration_ms === null ? '' : duration(step.duration_ms)
      this.#above.push(`${styled(mark[0], mark[1])} ${stepTitle(step, build.steps)} ${styled('dim', time)}`)
    }
    for (const warning of build.warnings.slice(this.#warnings)) this.#above.push(warned(warning))
    this.#warnings = build.warnings.length
  }

  log(line: BuildLogLine): void {
    const { level, step, message } = line
    if (isToldAtTheEnd(level) || level === 'debug' || isStepTitle(line, this.#build)) return
    if (level === 'warn') this.#above.push(warned(message))
    if (step !== this.#tailStep) this.#tail = []
    this.#tailStep = step
    this.#tail = [...this.#tail, plainText(message)].slice(-tailLines)
  }

  note(text: string): void {
    this.#above.push(`holt: ${text}`)
  }

  end(): void {
    clearInterval(this.#timer)
    this.#stream.off('resize', this.#redraw)
    this.#region.draw([], this.#above)
    this.#above = []
  }

  #draw(): void {
    this.#turn += 1
    const above = this.#above
    this.#above = []
    this.#region.draw(this.#lines(), above)
  }

  #lines(): string[] {
    const build = this.#build
    if (build === null) return []
    const turning = styled('cyan', spinner[this.#turn % spinner.length] ?? '')
    const nowMs = performance.now()
    const lines: string[] = []
    for (const step of build.steps.filter(({ state }) => state === 'running')) {
      const time = duration(nowMs - (this.#running.get(step.step) ?? nowMs))
      lines.push(`${turning} ${stepTitle(step, build.steps)} ${styled('dim', time)}`)
      if (this.#tailStep === step.step) lines.push(...this.#tail.map(quoted))
    }
    if (lines.length === 0 && this.#tailStep === null) lines.push(...this.#tail.map(quoted))
    const title = `${build.name}:${build.tag} ${build.status}`
    return [...lines, `${turning} ${styled('bold', title)} ${styled('dim', duration(nowMs - this.#begunMs))}`]
  }
}

const quoted = (line: string) => styled('dim', `    │ ${line}`)
const warned = (text: string) => `${styled('yellow', '!')} ${plainText(text)}`
