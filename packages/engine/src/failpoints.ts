import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The places at which a test can have the service fail: the boundaries between the steps of what it
 * does. Each step before such a place is done, and none after it has begun.
 * `packages/server/test/crash` and `chaos` fail at each of them, so a name that nothing reaches
 * fails a test.
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
  collect: ['listed', 'referenced', 'removed'],
  network: ['stored', 'synced', 'told'],
  policy: ['stored', 'synced'],
  host: [
    'recorded',
    'prepared',
    'started',
    'running',
    'door-closed',
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
    'disk-formatted',
    'disk-named',
  ],
} as const

type Places = typeof failpoints

/** `PART.STEP`. */
export type FailpointName = { [Part in keyof Places]: `${Part}.${Places[Part][number]}` }[keyof Places]

/** What a failpoint does that is armed: throws, ends the process as `kill -9` does, or waits. */
interface Action {
  readonly type: 'error' | 'kill' | 'sleep'
  readonly ms: number
  /** With which hit of the name it acts, from 1 on. */
  readonly hit: number
}

/** What an armed failpoint throws. */
export class FailpointError extends Error {
  override readonly name = 'FailpointError'
}

/** Every name there is. */
export const failpointNames = Object.entries(failpoints).flatMap(([part, steps]) =>
  steps.map((step) => `${part}.${step}` as FailpointName),
)

/**
 * What `HOLT_FAILPOINTS` says: `NAME=ACTION[@HIT]`, separated by commas or lines, where ACTION is
 * `error`, `kill` or `sleep:MS`. Or it is `@FILE`: a file that says so, which is read at each hit,
 * and beside which `FILE.hits` gets a line for each. Lines that begin with # are none; a file that
 * has changed counts from the beginning.
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
  await new Promise(() => {}) // The signal comes at once; whoever waits for this never goes on.
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '' // Nothing is armed.
    throw error
  }
}

/** Throws for what is no failpoint or no action: a test that arms nothing would pass. */
function parseActions(text: string): ReadonlyMap<string, Action> {
  const lines = text.split(/[,\n]/).map((line) => line.trim())
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, name = '', type = '', ms = '0', hit = '1'] =
          /^([\w.-]+)=(error|kill|sleep)(?::(\d+))?(?:@(\d+))?$/.exec(line) ?? []
        if (!failpointNames.some((known) => known === name))
          throw new Error(`HOLT_FAILPOINTS: ${line} arms no failpoint`)
        return [name, { type: type as Action['type'], ms: Number(ms), hit: Number(hit) }]
      }),
  )
}

const { HOLT_FAILPOINTS: setting } = process.env
const armed = setting === undefined ? null : new ArmedFailpoints(setting)

/** Whether this process was started to fail. */
export const failpointsAreArmed = armed !== null

const nothing = async () => {}

/**
 * A place at which a test can have this process fail. Nothing at all unless it was started with
 * `HOLT_FAILPOINTS`.
 */
export const failpoint: (name: FailpointName) => Promise<void> = armed === null ? nothing : (name) => armed.hit(name)
