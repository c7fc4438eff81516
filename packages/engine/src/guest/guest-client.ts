import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { GuestLink, GuestRequest, GuestResponse } from '../guest-link.ts'
import { type AnswerBudget, budgetOf } from './answer-budget.ts'
import { readAnswer, readFailure } from './read-answer.ts'
import { readItems } from './read-items.ts'
import {
  GuestBound,
  GuestFile,
  GuestFiles,
  GuestInfo,
  type GuestItem,
  GuestProcess,
  GuestProcesses,
  GuestStdinWritten,
} from './schemas.ts'

/** Who a runtime is, told to its guest once. */
export interface BindRequest {
  readonly runtime_id: string
  readonly hostname: string
  /** 32 hex digits. */
  readonly machine_id: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  readonly time_unix_ms: number
  /** Base64 of random bytes. */
  readonly entropy: string
  /** The most processes, where the guest itself must see to it. */
  readonly pids_max: number | null
  readonly set_clock: boolean
  readonly set_hostname: boolean
  /** Whether members of the group `sudo` may be root by the guest's leave, where the kernel ignores the setuid bit. */
  readonly sudo: boolean
}

/** A process to start. Exactly one of `command` and `argv` is not null. */
export interface StartProcess {
  readonly id: string
  readonly command: string | null
  readonly argv: readonly string[] | null
  readonly cwd: string | null
  readonly env: Readonly<Record<string, string>> | null
  readonly user: string | null
  readonly stdin: 'none' | 'pipe'
  /** Base64; written, then stdin is closed. */
  readonly stdin_data: string | null
  /** 0: none. */
  readonly timeout_ms: number
  readonly ring_bytes: number | null
}

/** A file's bytes with what the guest says of them. */
export interface GuestContent {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

const Nothing = z.object({})

/**
 * Speaks guest/PROTOCOL.md over a link. Every answer is parsed and bounded. Methods reject with `HoltError` for what the caller's request causes
 * (a missing path, say), and with `EngineError` for what the guest or the link causes.
 */
export class GuestClient {
  readonly #link: GuestLink
  readonly #budget: AnswerBudget
  constructor(link: GuestLink) {
    this.#link = link
    this.#budget = budgetOf(link)
  }

  info(signal: AbortSignal): Promise<GuestInfo> {
    return this.#ask({ method: 'GET', path: '/v1/info', signal }, GuestInfo)
  }

  /** Gives the runtime its identity. The same id again is success. */
  bind(request: BindRequest, signal: AbortSignal): Promise<GuestBound> {
    return this.#post('/v1/bind', request, GuestBound, signal)
  }

  /** Makes the guest close its connection, so that a checkpoint can be taken. */
  async quiesce(signal: AbortSignal): Promise<void> {
    await this.#post('/v1/quiesce', {}, Nothing, signal)
  }

  startProcess(request: StartProcess, signal: AbortSignal): Promise<GuestProcess> {
    return this.#post('/v1/processes', request, GuestProcess, signal)
  }

  /** Starts a process and follows it: the items begin with `start` and end with `end`. Rejects when it cannot be started. */
  async runProcess(request: StartProcess, signal: AbortSignal): Promise<AsyncGenerator<GuestItem>> {
    const response = await this.#link.request({
      method: 'POST',
      path: '/v1/processes?follow=1',
      ...json(request),
      signal,
    })
    if (response.status >= 400) throw await readFailure(response, this.#budget)
    return readItems(response.body)
  }

  async listProcesses(signal: AbortSignal): Promise<readonly GuestProcess[]> {
    return (await this.#ask({ method: 'GET', path: '/v1/processes', signal }, GuestProcesses)).processes
  }

  getProcess(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return this.#ask({ method: 'GET', path: `/v1/processes/${id}`, signal }, GuestProcess)
  }

  /** Output after `cursor`; with `follow` until the process has ended. */
  async readOutput(
    id: string,
    { cursor, follow }: { cursor: number; follow: boolean },
    signal: AbortSignal,
  ): Promise<AsyncGenerator<GuestItem>> {
    const path = `/v1/processes/${id}/output?cursor=${cursor}&follow=${follow ? 1 : 0}`
    const response = await this.#link.request({ method: 'GET', path, signal })
    if (response.status >= 400) throw await readFailure(response, this.#budget)
    return readItems(response.body)
  }

  /** Answers how many bytes were written. */
  async writeStdin(
    id: string,
    { data, eof }: { data: Uint8Array; eof: boolean },
    signal: AbortSignal,
  ): Promise<number> {
    const path = `/v1/processes/${id}/stdin?eof=${eof ? 1 : 0}`
    return (await this.#ask({ method: 'POST', path, body: data, signal }, GuestStdinWritten)).written_bytes
  }

  signalProcess(id: string, name: string, signal: AbortSignal): Promise<GuestProcess> {
    return this.#post(`/v1/processes/${id}/signal`, { signal: name }, GuestProcess, signal)
  }

  /** Kills every process of a command and answers when none is left. */
  killProcess(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return this.#ask({ method: 'DELETE', path: `/v1/processes/${id}`, signal }, GuestProcess)
  }

  stat(path: string, signal: AbortSignal): Promise<GuestFile> {
    return this.#ask({ method: 'GET', path: `/v1/files/stat?${query({ path })}`, signal }, GuestFile)
  }

  /** Entries below a directory, sorted by path; `after` is the last path already seen, relative to `path`, percent-encoded. */
  list(
    { after, ...rest }: { path: string; depth: number; limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<GuestFiles> {
    const path = `/v1/files/list?${query(rest)}${after === null ? '' : `&after=${after}`}`
    return this.#ask({ method: 'GET', path, signal }, GuestFiles)
  }

  async readContent(
    { path, range }: { path: string; range: string | null },
    signal: AbortSignal,
  ): Promise<GuestContent> {
    const headers = range === null ? {} : { range }
    const response = await this.#link.request({
      method: 'GET',
      path: `/v1/files/content?${query({ path })}`,
      headers,
      signal,
    })
    if (response.status === 200 || response.status === 206) return { ...response, status: response.status }
    throw await readFailure(response, this.#budget)
  }

  async writeContent(
    {
      body,
      createOnly,
      ...rest
    }: { path: string; mode?: string; user?: string; createOnly: boolean; body: Readable | Uint8Array },
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    const path = `/v1/files/content?${query({ ...rest, create_only: createOnly ? 1 : 0 })}`
    const response = await this.#link.request({ method: 'PUT', path, body, signal })
    return { created: response.status === 201, file: await readAnswer(response, GuestFile, this.#budget) }
  }

  async makeDirectory(
    request: { path: string; parents: boolean; mode: string | null; user: string | null },
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    const response = await this.#link.request({ method: 'POST', path: '/v1/files/mkdir', ...json(request), signal })
    return { created: response.status === 201, file: await readAnswer(response, GuestFile, this.#budget) }
  }

  async remove(request: { path: string; recursive: boolean }, signal: AbortSignal): Promise<void> {
    await this.#post('/v1/files/remove', request, Nothing, signal)
  }

  move(request: { source: string; destination: string; overwrite: boolean }, signal: AbortSignal): Promise<GuestFile> {
    return this.#post('/v1/files/move', request, GuestFile, signal)
  }

  copy(
    request: { source: string; destination: string; recursive: boolean; overwrite: boolean },
    signal: AbortSignal,
  ): Promise<GuestFile> {
    return this.#post('/v1/files/copy', request, GuestFile, signal)
  }

  #post<Schema extends z.ZodType>(
    path: string,
    body: object,
    answer: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    return this.#ask({ method: 'POST', path, ...json(body), signal }, answer)
  }

  async #ask<Schema extends z.ZodType>(request: GuestRequest, answer: Schema): Promise<z.output<Schema>> {
    const response: GuestResponse = await this.#link.request(request)
    return readAnswer(response, answer, this.#budget)
  }
}

function json(body: object): { readonly headers: Record<string, string>; readonly body: Uint8Array } {
  return { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) }
}

function query(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`)
    .join('&')
}
