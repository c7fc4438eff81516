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
export type Tally = Record<string, number>

/** Goes on until it is over. */
export type Attack = (target: Target, over: AbortSignal) => Promise<Tally>
