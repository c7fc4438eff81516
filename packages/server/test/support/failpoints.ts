import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** What a failpoint is armed to do, with which hit of its name. */
export interface Arming {
  readonly name: string
  readonly hit: number
  readonly action: 'error' | 'kill'
}

/** The failpoints of this process, which has to have been started with `HOLT_FAILPOINTS=@FILE`. */
export class Failpoints {
  readonly #file: string
  #armed = 0

  constructor(setting: string | undefined) {
    if (setting?.startsWith('@') !== true) throw new Error('HOLT_FAILPOINTS names no file')
    this.#file = setting.slice(1)
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

  [Symbol.dispose](): void {
    rmSync(this.#file, { force: true })
    rmSync(this.#hitsFile, { force: true })
  }
}

/** Every hit of these, as armings: `error` at each, and `kill` where it is another moment than that of the hit before. */
export function armingsOf(hits: readonly string[]): readonly Arming[] {
  const counts = new Map<string, number>()
  return hits.flatMap((name): Arming[] => {
    const hit = (counts.get(name) ?? 0) + 1
    counts.set(name, hit)
    const error: Arming = { name, hit, action: 'error' }
    return name === 'store.change' ? [error] : [error, { name, hit, action: 'kill' }]
  })
}
