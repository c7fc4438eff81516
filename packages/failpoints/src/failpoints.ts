import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The places at which a test can make the service fail: the boundaries between steps. At such a
 * place each step before it is done, and no step after it has begun. `packages/server/test/crash`
 * and `chaos` fail at each of them. A name that is never reached fails a test.
 */
export const failpoints = {
  store: ['change', 'committed'],
  idempotency: ['reserved', 'answered', 'kept'],
  create: ['decided', 'reserved', 'ensured', 'networked', 'bound', 'started'],
  claim: ['taken', 'woken', 'bound', 'owned'],
  pool: ['noted', 'ensured', 'prepared', 'frozen', 'ready', 'removed'],
  delete: ['terminating', 'stopped', 'forgotten', 'removed', 'terminated'],
  command: ['prepared', 'ended'],
  'write-down': ['quiesced', 'taken'],
  pause: ['pausing', 'removed', 'paused'],
  'pause-files': ['pausing', 'imported', 'paused'],
  'lose-memory': ['restored', 'imported'],
  resume: ['resuming', 'cleared', 'restored', 'networked', 'bound', 'started', 'running'],
  snapshot: ['noted', 'written', 'ready'],
  fork: ['held', 'written', 'made'],
  context: ['received', 'named', 'stored'],
  build: [
    'stored',
    'begun',
    'told',
    'held',
    'published',
    'remembered',
    'noted',
    'ensured',
    'awake',
    'networked',
    'stepped',
    'checkpoint-noted',
    'checkpoint-taken',
    'kept',
    'mount-written',
    'mount-stored',
    'released',
    'forgotten',
    'cleared',
    'carried-out',
    'finished',
  ],
  artifact: ['begun', 'put', 'marked', 'condemned', 'trashed', 'removed'],
  collect: ['listed', 'referenced', 'removed'],
  network: ['stored', 'synced', 'told'],
  policy: ['stored', 'synced'],
  host: [
    'recorded',
    'prepared',
    'started',
    'running',
    'listener-closed',
    'processes-ended',
    'cgroup-removed',
    'unmounted',
    'files-removed',
    'record-removed',
    'draft-made',
    'draft-written',
    'draft-sealed',
    'checkpoint-named',
    'checkpoint-unnamed',
    'image-written',
    'image-based',
    'image-named',
    'files-received',
    'disk-formatted',
    'disk-named',
  ],
} as const

type Places = typeof failpoints

/** The name of a failpoint: `PART.STEP`. */
export type FailpointName = { [Part in keyof Places]: `${Part}.${Places[Part][number]}` }[keyof Places]

/** The action of an armed failpoint: throw, end the process as `kill -9` does, or wait. */
interface Action {
  readonly type: 'error' | 'kill' | 'sleep'
  readonly ms: number
  /** The number of the hit at which it acts, from 1 on. */
  readonly hit: number
}

/** The error that an armed failpoint throws. */
class FailpointError extends Error {
  override readonly name = 'FailpointError'
}

/** All names of failpoints. */
export const failpointNames = Object.entries(failpoints).flatMap(([part, steps]) =>
  steps.map((step) => `${part}.${step}` as FailpointName),
)

/**
 * The failpoints armed by `HOLT_FAILPOINTS`: `NAME=ACTION[@HIT]`, separated by commas or lines.
 * ACTION is `error`, `kill` or `sleep:MS`. The value can also be `@FILE`, a file with such text.
 * That file is read at each hit, and `FILE.hits` gets a line for each hit. Lines that begin with #
 * are ignored. When the file changes, the counts restart.
 */
class ArmedFailpoints {
  readonly #file: string | null
  readonly #hits = new Map<string, number>()
  #text: string | null = null
  #actions: ReadonlyMap<string, Action> = new Map()

  constructor(setting: string) {
    this.#file = setting.startsWith('@') ? setting.slice(1) : null
    if (this.#file === null) this.#arm(setting)
  }

  async hit(name: FailpointName): Promise<void> {
    if (this.#file !== null) {
      this.#arm(textOf(this.#file))
      appendFileSync(`${this.#file}.hits`, `${name}\n`)
    }
    const hits = (this.#hits.get(name) ?? 0) + 1
    this.#hits.set(name, hits)
    const action = this.#actions.get(name)
    if (action?.hit === hits) await act(name, action)
  }

  #arm(text: string): void {
    if (text === this.#text) return
    this.#actions = parseActions(text)
    this.#text = text
    this.#hits.clear()
  }
}

async function act(name: FailpointName, { type, ms }: Action): Promise<void> {
  if (type === 'sleep') await sleep(ms)
  if (type === 'error') throw new FailpointError(`the failpoint ${name} is armed`)
  if (type !== 'kill') return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {}) // The signal arrives at once, and the caller never continues.
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '' // Nothing is armed.
    throw error
  }
}

/** Throws for an unknown failpoint or action. Otherwise a test that arms nothing would pass. */
function parseActions(text: string): ReadonlyMap<string, Action> {
  const lines = text.split(/[,\n]/).map((line) => line.trim())
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, name = '', type = '', ms = '0', hit = '1'] =
          /^([\w.-]+)=(error|kill|sleep)(?::(\d+))?(?:@(\d+))?$/.exec(line) ?? []
        if (!failpointNames.some((known) => known === name))
          throw new Error(`HOLT_FAILPOINTS: ${line} is not a failpoint`)
        return [name, { type: type as Action['type'], ms: Number(ms), hit: Number(hit) }]
      }),
  )
}

const { HOLT_FAILPOINTS: setting } = process.env
const armed = setting === undefined ? null : new ArmedFailpoints(setting)

/** True if `HOLT_FAILPOINTS` was set when this process started. */
export const failpointsAreArmed = armed !== null

const nothing = async () => {}

/**
 * Marks a place at which a test can make this process fail. It does nothing unless the process was
 * started with `HOLT_FAILPOINTS`.
 */
export const failpoint: (name: FailpointName) => Promise<void> = armed === null ? nothing : (name) => armed.hit(name)
