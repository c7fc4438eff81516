import type { Engine, ImageDigest } from '@holt/engine'
import { RecentMap } from '../../foundation/recent-map.ts'

/** The time for which an answer of the engine is remembered, in milliseconds. */
const freshMs = 2_000

/** The maximum number of images and checkpoints that are remembered. */
const mostKept = 10_000

/** The images and checkpoints that are on this machine, as the engine has said lately. */
export class FilesHere {
  readonly #engine: Engine
  readonly #monotonic: () => number
  readonly #kept = new RecentMap<string, { isHere: boolean; at: number }>(mostKept)

  constructor(engine: Engine, monotonic: () => number) {
    this.#engine = engine
    this.#monotonic = monotonic
  }

  /** Returns true if an image is here. */
  image(digest: string): Promise<boolean> {
    const has = async () => (await this.#engine.ability('images')?.has(digest as ImageDigest)) ?? false
    return this.#remembered(`image ${digest}`, has)
  }

  /** Returns true if a checkpoint is here and this machine can restore it. */
  checkpoint(checkpointId: string): Promise<boolean> {
    const usable = async () => {
      const found = await this.#engine
        .ability('checkpoints')
        ?.usable(checkpointId, { restoreOnly: true, skipFiles: true })
      return found?.usable ?? false
    }
    return this.#remembered(`checkpoint ${checkpointId}`, usable)
  }

  /** Only the first question waits. Later ones get the last answer, and an old one is renewed. */
  async #remembered(name: string, ask: () => Promise<boolean>): Promise<boolean> {
    const known = this.#kept.get(name)
    if (known === undefined) return this.#renew(name, ask)
    if (this.#monotonic() - known.at >= freshMs) {
      known.at = this.#monotonic()
      // The engine is asked again after the next interval.
      this.#renew(name, ask).catch(() => {})
    }
    return known.isHere
  }

  async #renew(name: string, ask: () => Promise<boolean>): Promise<boolean> {
    const isHere = await ask()
    this.#kept.set(name, { isHere, at: this.#monotonic() })
    return isHere
  }
}
