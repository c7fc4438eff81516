import type { Heard, Outside } from '../../../e2e/support/fleet/outside.ts'

/**
 * The time between the moment at which this process has an answer and that at which it has seen all
 * earlier messages, in milliseconds. A fence comes seconds before a verdict.
 */
const slackMs = 500

/** The knowledge about the voices of runtimes: which of them somebody was told to have ended. */
export class Voices {
  readonly #outside: Outside
  readonly #ended = new Map<string, { readonly at: number; readonly how: string }>()

  constructor(outside: Outside) {
    this.#outside = outside
  }

  /** Notes that a client was told that a runtime has ended. */
  noteEnd(runtimeId: string, how: string): void {
    if (!this.#ended.has(runtimeId)) this.#ended.set(runtimeId, { at: performance.now(), how })
  }

  /** The number of messages that were heard from a runtime. */
  count(runtimeId: string): number {
    return this.#outside.of(runtimeId).length
  }

  /** Returns the faults: a voice after its end, and one that two hosts have at once. */
  faults(runtimeIds: readonly string[]): readonly string[] {
    return runtimeIds.flatMap((id) => [...this.#late(id), ...twice(id, this.#outside.of(id))])
  }

  #late(id: string): readonly string[] {
    const end = this.#ended.get(id)
    if (end === undefined) return []
    const late = this.#outside.of(id).filter(({ at }) => at > end.at + slackMs)
    return late.map(
      ({ at, from }) => `${id} was heard through ${from ?? 'a host'} ${Math.round(at - end.at)} ms after ${end.how}`,
    )
  }
}

/** Returns a fault if a runtime was heard through a host again after another one had it. */
function twice(id: string, heard: readonly Heard[]): readonly string[] {
  const known = heard.flatMap(({ from }) => (from === null ? [] : [from]))
  const stays = known.filter((from, index) => from !== known[index - 1])
  return new Set(stays).size === stays.length ? [] : [`${id} was heard through ${stays.slice(0, 6).join(', ')}`]
}
