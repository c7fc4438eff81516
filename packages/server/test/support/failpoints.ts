import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The action of a failpoint, and the number of the hit that triggers it. */
export interface Arming {
  readonly name: string
  readonly hit: number
  readonly action: 'error' | 'kill'
}

/**
 * The failpoints of this process, which has to have been started with
 * `HOLT_FAILPOINTS=@DIRECTORY/FILE`.
 */
export class Failpoints {
  readonly #file: string
  #armed = 0

  constructor(setting: string | undefined) {
    this.#file = fileOf(setting)
    mkdirSync(dirname(this.#file), { recursive: true })
    this.arm(null)
  }

  /** Arms one and no other; null: none. Hits are counted from here on. */
  arm(arming: Arming | null): void {
    this.#armed += 1
    const line = arming === null ? '' : `${arming.name}=${arming.action}@${arming.hit}`
    writeFileSync(this.#file, `# ${this.#armed}\n${line}\n`)
    writeFileSync(this.#hitsFile, '')
  }

  /** The names that were hit since something was armed, in their order. */
  hits(): readonly string[] {
    return readFileSync(this.#hitsFile, 'utf8')
      .split('\n')
      .filter((name) => name !== '')
  }

  get #hitsFile(): string {
    return `${this.#file}.hits`
  }
}

/**
 * Removes what there is of failpoints, when no service is left: each hit of one would write its
 * file anew, were it not for the directory.
 */
export function removeFailpoints(): void {
  rmSync(dirname(fileOf(process.env.HOLT_FAILPOINTS)), { recursive: true, force: true })
}

function fileOf(setting: string | undefined): string {
  if (setting?.startsWith('@') !== true) throw new Error('HOLT_FAILPOINTS names no file')
  return setting.slice(1)
}

/**
 * Every hit of these, as armings: `error` at each, and `kill` where it is another moment than that
 * of the hit before.
 */
export function armingsOf(hits: readonly string[]): readonly Arming[] {
  const counts = new Map<string, number>()
  return hits.flatMap((name): Arming[] => {
    const hit = (counts.get(name) ?? 0) + 1
    counts.set(name, hit)
    const error: Arming = { name, hit, action: 'error' }
    return name === 'store.change' ? [error] : [error, { name, hit, action: 'kill' }]
  })
}
