/** The progress of making a tree. `done` only rises, and reaches `total` when the tar begins. */
export interface BuildProgress {
  readonly phase: 'fetch' | 'index' | 'essential' | 'download' | 'install' | 'configure' | 'ready'
  /** The current work, for a person. */
  readonly message: string
  readonly done: number
  readonly total: number
}

type Phase = BuildProgress['phase']

/**
 * The phases in order, with the share of the time that each took when measured (a fast mirror, two
 * cores). A slow connection makes `download` take more than its share, but order and direction stay
 * right.
 */
const phases: readonly { readonly phase: Phase; readonly share: number; readonly message: string }[] = [
  { phase: 'fetch', share: 140, message: 'fetching Node, npm and uv' },
  { phase: 'index', share: 50, message: 'reading the package index' },
  { phase: 'essential', share: 250, message: 'installing the essential packages' },
  { phase: 'download', share: 60, message: 'downloading packages' },
  { phase: 'install', share: 380, message: 'installing packages' },
  { phase: 'configure', share: 120, message: 'setting up the toolchain' },
  { phase: 'ready', share: 0, message: 'writing the tree' },
]

/** The lines of mmdebstrap that begin a phase, and the number of lines that count in it. */
const marks: readonly { readonly start: string; readonly phase: Phase; readonly expected: number }[] = [
  { start: 'I: running apt-get update', phase: 'index', expected: 8 },
  { start: 'I: downloading packages', phase: 'essential', expected: 1 },
  { start: 'I: installing remaining packages', phase: 'download', expected: 1 },
  { start: 'I: creating tarball', phase: 'ready', expected: 1 },
]

/** The final value of `done`. */
export const progressTotal = phases.reduce((sum, { share }) => sum + share, 0)

/** Turns the output of mmdebstrap, apt, dpkg and the hooks into progress. */
export class ProgressReader {
  #phase: Phase = 'fetch'
  #message = 'fetching Node, npm and uv'
  #seen = 0
  #expected: number
  readonly #steps: number

  /** `fetches` is the number of calls of `fetched`, and `steps` the number of hooks that report. */
  constructor({ fetches, steps }: { readonly fetches: number; readonly steps: number }) {
    this.#expected = fetches
    this.#steps = steps
  }

  /** The current progress. */
  get progress(): BuildProgress {
    const index = phases.findIndex(({ phase }) => phase === this.#phase)
    const before = phases.slice(0, index).reduce((sum, { share }) => sum + share, 0)
    const within = (phases[index]?.share ?? 0) * Math.min(1, this.#seen / this.#expected)
    return { phase: this.#phase, message: this.#message, done: Math.floor(before + within), total: progressTotal }
  }

  /** Begins a phase by name. A phase that has passed is ignored. */
  enter(phase: Phase, expected = 1): void {
    const order = phases.map((entry) => entry.phase)
    if (order.indexOf(phase) <= order.indexOf(this.#phase)) return
    this.#phase = phase
    this.#message = phases.find((entry) => entry.phase === phase)?.message ?? phase
    this.#seen = 0
    this.#expected = expected
  }

  /** Counts one finished fetch. */
  fetched(): void {
    if (this.#phase === 'fetch') this.#seen += 1
  }

  /** Reads one line of output. Returns true if the progress changed. */
  read(line: string): boolean {
    const before = this.progress
    this.#take(line)
    const after = this.progress
    return before.done !== after.done || before.message !== after.message
  }

  #take(line: string): void {
    const begun = marks.find(({ start }) => line.startsWith(start))
    const step = /^holt-step: (.+)$/.exec(line)?.[1]
    const packages = /^\d+ upgraded, (\d+) newly installed/.exec(line)?.[1]
    if (begun !== undefined) this.enter(begun.phase, begun.expected)
    else if (step !== undefined) this.#step(step)
    else if (packages !== undefined) this.#expectPackages(Number(packages))
    else if (this.#phase === 'download' && line.startsWith('Selecting previously unselected')) {
      this.enter('install', 2 * this.#expected)
    } else if (this.#counts(line)) this.#seen += 1
  }

  #step(step: string): void {
    this.enter('configure', this.#steps)
    if (this.#phase !== 'configure') return
    this.#message = `setting up: ${step}`
    this.#seen += 1
  }

  #expectPackages(count: number): void {
    // For essential packages, unpacking and setting up are reported. For the others, the downloads
    // come first.
    if (this.#phase === 'essential') this.#expected = 2 * count
    if (this.#phase === 'download') this.#expected = count
  }

  #counts(line: string): boolean {
    switch (this.#phase) {
      case 'index':
      case 'download':
        return line.startsWith('Get:')
      case 'essential':
      case 'install':
        return line.startsWith('Unpacking ') || line.startsWith('Setting up ')
      default:
        return false
    }
  }
}
