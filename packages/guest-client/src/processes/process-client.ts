import type { GuestRequest } from '@holt/engine'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { readItems } from '../answers/read-items.ts'
import { flag, get, post, query, remove } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { GuestItem, GuestProcess, GuestProcesses, GuestStdinWritten, type GuestTerminal } from './process-schemas.ts'
import type { StartProcess } from './start-process.ts'

/** A write to the stdin of a process. */
interface StdinWrite {
  readonly data: Uint8Array
  readonly eof: boolean
  /** The position of `data` in stdin; null: after the earlier bytes. */
  readonly offset: number | null
  /** The id of the operation: 1 to 64 of `[A-Za-z0-9_-]`. Default: that of the client. */
  readonly operation?: string | undefined
}

/** The processes of a runtime, and their streams. */
export class ProcessClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  async start(request: StartProcess, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(request.id, await this.#sender.ask(post('/v1/processes', request, signal), GuestProcess))
  }

  /**
   * Starts a process and follows it: the items begin with `start` and end with `end`. Rejects when
   * it cannot be started.
   */
  async run(request: StartProcess, signal: AbortSignal): Promise<AsyncGenerator<GuestItem>> {
    const { body } = await this.#sender.open({ ...post('/v1/processes?follow=1', request, signal), follows: true })
    return readItems(body, GuestItem)
  }

  async list(signal: AbortSignal): Promise<readonly GuestProcess[]> {
    return (await this.#sender.ask(get('/v1/processes', signal), GuestProcesses)).processes
  }

  /**
   * Returns the newest process with a PID or a label, or null. A running process comes before an
   * ended one. Ended processes are known until 1,000 later ones have ended.
   */
  async find(wanted: { pid: number } | { label: string }, signal: AbortSignal): Promise<GuestProcess | null> {
    const { processes } = await this.#sender.ask(get(`/v1/processes?${query({ ...wanted })}`, signal), GuestProcesses)
    const isWanted = (one: GuestProcess) => ('pid' in wanted ? one.pid === wanted.pid : one.label === wanted.label)
    if (!processes.every(isWanted)) throw answeredWrongly('another process than the requested one')
    return processes[0] ?? null
  }

  async get(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#sender.ask(get(`/v1/processes/${id}`, signal), GuestProcess))
  }

  /**
   * Returns output after `cursor`. With `follow` it continues until the process ends; with `hold`
   * the process waits for this reader, as for a pipe.
   */
  async readOutput(
    id: string,
    { cursor, follow, hold = false }: { cursor: number; follow: boolean; hold?: boolean },
    signal: AbortSignal,
  ): Promise<AsyncGenerator<GuestItem>> {
    const fields = query({ cursor, follow: flag(follow), hold: hold ? 1 : undefined })
    const { body } = await this.#sender.open({
      ...get(`/v1/processes/${id}/output?${fields}`, signal),
      follows: follow,
    })
    return readItems(body, GuestItem)
  }

  /**
   * Returns the number of bytes added and the offset of the next write. Bytes before `offset` that
   * arrived already are skipped. A write repeated under the same `operation` is answered again.
   */
  writeStdin(id: string, write: StdinWrite, signal: AbortSignal): Promise<GuestStdinWritten> {
    const { data, eof, offset, operation } = write
    const path = `/v1/processes/${id}/stdin?${query({ eof: flag(eof), offset: offset ?? undefined })}`
    const request = this.#sender.once({ method: 'POST', path, body: data, signal }, operation)
    return this.#sender.ask(request, GuestStdinWritten)
  }

  signal(id: string, name: string, signal: AbortSignal): Promise<GuestProcess> {
    return this.#change(id, post(`/v1/processes/${id}/signal`, { signal: name }, signal))
  }

  resize(id: string, size: GuestTerminal, signal: AbortSignal): Promise<GuestProcess> {
    return this.#change(id, post(`/v1/processes/${id}/resize`, size, signal))
  }

  /** Kills every process of a command. Resolves when none is left. */
  async kill(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#sender.ask(remove(`/v1/processes/${id}`, signal), GuestProcess))
  }

  async #change(id: string, request: GuestRequest): Promise<GuestProcess> {
    return processAsked(id, await this.#sender.ask(this.#sender.once(request), GuestProcess))
  }
}

/** Returns a process. Throws `wrong_answer` if it is not the requested one. */
function processAsked(id: string, process: GuestProcess): GuestProcess {
  if (process.id !== id) throw answeredWrongly('another process than the requested one')
  return process
}
