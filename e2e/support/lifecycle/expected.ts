import { createHash } from 'node:crypto'

/** The model of a runtime: the state that it must have. */
export interface Expected {
  /** Contents by name. */
  readonly files: ReadonlyMap<string, Buffer>
  /** The numbers that were written to each adding command, by its id. */
  readonly keepers: ReadonlyMap<string, readonly number[]>
  /** How far each command that counts was seen, by its id. */
  readonly tickers: ReadonlyMap<string, number>
  /** Commands that say something once, after a while. */
  readonly timers: readonly string[]
  /** The arrived bytes of a file that is uploaded in parts. */
  readonly upload: { readonly id: string; readonly content: Buffer } | null
  /** The sum that a shell session keeps in a variable. */
  readonly session: number | null
}

/** A runtime that nobody has used. */
export const untouched: Expected = {
  files: new Map(),
  keepers: new Map(),
  tickers: new Map(),
  timers: [],
  upload: null,
  session: null,
}

/** The state of a runtime that a filesystem snapshot keeps. */
export function filesOf({ files }: Expected): Expected {
  return { ...untouched, files }
}

/** A map with one more entry, or another one. */
export function withEntry<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key, value: Value): ReadonlyMap<Key, Value> {
  return new Map(map).set(key, value)
}

/** Bytes that are always the same for a seed, and that nothing compresses. */
export function bytesOfSeed(seed: number, length: number): Buffer {
  return createHash('shake256', { outputLength: Math.max(length, 1) })
    .update(`${seed}`)
    .digest()
    .subarray(0, length)
}
