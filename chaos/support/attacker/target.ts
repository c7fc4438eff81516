/** What is attacked: the service, and paths of it that a client with a key may ask for. */
export interface Target {
  readonly port: number
  readonly key: string
  /** Of a runtime that is the attacker's own. */
  readonly runtimePath: string
  /** Of a command in it with a terminal, which writes for ever. */
  readonly commandPath: string
  /** Of a large file in it. */
  readonly largeFile: string
  /** Of a port in it on which a program answers. */
  readonly proxyPath: string
}

/** What an attack came to, as counts. */
interface Counts {
  /** Connections that were opened, and of those how many were closed before the end. */
  opened: number
  closed: number
  bytes_sent: number
  bytes_read: number
  /** What was sent piece by piece: bytes that drip, frames, and what is poured. */
  pieces: number
}

/**
 * What an attack came to. Answers are counted by the code of their error, or else by their status.
 */
export interface Tally extends Counts {
  readonly answers: Record<string, number>
}

/**
 * What an attack came to at the least where it was one, on the slowest machine. Other answers than
 * these mean that it was turned away at the door, for its path, its key or its form: then nothing
 * was attacked.
 */
export interface Evidence {
  readonly least: Partial<Counts>
  /** How many there were of each at the least. */
  readonly answers?: Readonly<Record<string, number>>
}

/**
 * How long an attack goes on once it has begun: for a time at the least, and until whoever measures
 * has seen enough.
 */
export interface AttackTime {
  readonly leastMs: number
  readonly enough: Promise<void>
}

/** What is done to the service. */
export interface Attack {
  readonly evidence: Evidence
  run(target: Target, time: AttackTime): Promise<Tally>
}
