/** The target of an attack: the service, and paths of it that a client with a key may request. */
export interface Target {
  readonly port: number
  readonly key: string
  /** The path of a runtime of the attacker. */
  readonly runtimePath: string
  /** The path of a command in it, with a terminal and endless output. */
  readonly commandPath: string
  /** The path of a large file in it. */
  readonly largeFile: string
  /** The path of a port in it on which a program answers. */
  readonly proxyPath: string
}

/** The counts of an attack. */
interface Counts {
  /** The connections that were opened, and the number of those that were closed before the end. */
  opened: number
  closed: number
  bytes_sent: number
  bytes_read: number
  /** The pieces that were sent: single bytes, frames, and repeated writes. */
  pieces: number
}

/**
 * The result of an attack. Answers are counted by the code of their error, or otherwise by their
 * status.
 */
export interface Tally extends Counts {
  readonly answers: Record<string, number>
}

/**
 * The minimal result of an effective attack, on the slowest machine. Other answers mean that the
 * service rejected the requests early, for their path, key or form. Then the attack had no effect.
 */
export interface Evidence {
  readonly least: Partial<Counts>
  /** The minimal number of each answer. */
  readonly answers?: Readonly<Record<string, number>>
}

/** The duration of an attack after its start: a minimum time, and until `enough` resolves. */
export interface AttackTime {
  readonly leastMs: number
  readonly enough: Promise<void>
}

/** An attack on the service. */
export interface Attack {
  readonly evidence: Evidence
  run(target: Target, time: AttackTime): Promise<Tally>
}
