import { PassThrough, type Readable } from 'node:stream'
import { z } from 'zod'
import { EngineError, type GuestLink, type GuestRequest, type GuestResponse } from '@holt/engine'
import { type AnswerBudget, budgetOf } from './answers/answer-budget.ts'
import { answeredWrongly, refusedBy } from './answers/answered-wrongly.ts'
import { entriesAsked, fileAsked, itemsWithin, processAsked, replacedAsked, uploadAsked } from './as-asked.ts'
import {
  boundedMatches,
  type GuestMatch,
  lengthOf,
  type ReplaceRequest,
  type SearchFindings,
  type SearchRequest,
  type WriteContent,
  type WritePart,
  type Written,
} from './files/file-requests.ts'
import { GuestChanged, GuestReplaced, GuestSearchItem, GuestUpload } from './files/file-schemas.ts'
import { PortStream } from './ports/port-stream.ts'
import { readAnswer, readFailure } from './answers/read-answer.ts'
import { readItems, readItemsOf } from './answers/read-items.ts'
import {
  GuestBound,
  GuestContentHeaders,
  GuestFile,
  GuestFiles,
  GuestInfo,
  type GuestItem,
  GuestNetworkSet,
  GuestPort,
  GuestPorts,
  GuestProcess,
  GuestProcesses,
  GuestRelief,
  GuestSeeded,
  type GuestSession,
  GuestSessions,
  GuestStdinWritten,
  type GuestTerminal,
  GuestUsage,
} from './schemas.ts'
import type { ApplyTree, ExportedTree, ExportTree, SelectedPaths, SelectPaths, TreeMount } from './trees/tree-requests.ts'
import { GuestApplied, GuestChange, GuestTree } from './trees/tree-schemas.ts'

/** The network that a guest sets up inside. All its traffic goes through the egress socket. */
export interface GuestNetwork {
  /** The address that answers DNS. */
  readonly resolver: string
  /** The address of the runtime. */
  readonly address: string
  readonly mtu: number
  /** The answer of `Egress.prepareTun`. */
  readonly tun: 'create' | 'socket'
  /** Certificates in PEM to add to the trust stores inside. */
  readonly ca_certificates: readonly string[]
}

/**
 * The identity of a runtime. The guest gets it once, and again after each restore of a runtime that
 * was already bound.
 */
export interface BindRequest {
  readonly runtime_id: string
  /**
   * True if the runtime takes this identity even if it is bound, to this id or another. Everything
   * in the request is applied again.
   */
  readonly renew?: boolean
  readonly hostname: string
  /** 32 hex digits. */
  readonly machine_id: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  readonly time_unix_ms: number
  /** Base64 of random bytes. */
  readonly entropy: string
  /** The most processes, if the guest itself must enforce it. */
  readonly pids_max: number | null
  readonly set_clock: boolean
  readonly set_hostname: boolean
  /** The network. Absent means null: no device, no route, no resolver. */
  readonly network?: GuestNetwork | null
}

/** The environment, user and directory for commands of an unbound runtime. */
export type SeedRequest = Pick<BindRequest, 'env' | 'user' | 'workdir' | 'pids_max'> & {
  readonly network: GuestNetwork | null
  /**
   * Names that `bind` will give unless it is asked for others; then it has nothing to write. Not
   * for a runtime to be checkpointed, because all its copies would share them.
   */
  readonly names?: Pick<BindRequest, 'hostname' | 'machine_id' | 'set_hostname'>
}

/** A process to start. Exactly one of `command` and `argv` is not null. */
export interface StartProcess {
  readonly id: string
  readonly command: string | null
  readonly argv: readonly string[] | null
  readonly cwd: string | null
  readonly env: Readonly<Record<string, string>> | null
  /**
   * True if the environment is `env`, plus HOME and the variables for the network's certificates if
   * `env` does not name them. The bound environment and the user add nothing.
   */
  readonly env_exact?: boolean
  readonly user: string | null
  readonly stdin: 'none' | 'pipe'
  /** Base64. It is written, then stdin is closed. */
  readonly stdin_data: string | null
  /** The time limit; 0 for none. */
  readonly timeout_ms: number
  readonly ring_bytes: number | null
  /** By the names of setrlimit(2); null is unlimited. */
  readonly rlimits?: Readonly<Record<string, { readonly soft: number | null; readonly hard: number | null }>>
  /** The shell session of the process. */
  readonly session?: string
  /** The size of the terminal for its standard input and output, which are then one stream. */
  readonly pty: GuestTerminal | null
  /**
   * True if the process waits until somebody reads its output with `hold`, for some seconds at
   * most.
   */
  readonly await_reader: boolean
  /**
   * True if the guest forgets the process when it ends. A reader that follows it receives its end.
   */
  readonly transient?: boolean
  /**
   * True if the runtime counts as idle while the process runs: `GuestInfo.foreground` leaves it
   * out.
   */
  readonly background?: boolean
}

/** The bytes of a file with the guest's facts about it. */
export interface GuestContent {
  readonly status: 200 | 206
  readonly headers: GuestContentHeaders
  readonly body: Readable
}

/** An archive that becomes a tree. Null leaves the choice to the guest. */
export interface WriteArchive {
  readonly path: string
  readonly format: 'tar' | 'tar.gz' | null
  readonly user: string | null
  readonly keepOwners: boolean
  readonly overwrite: boolean
  readonly merge: boolean
  readonly maxEntries: number
  readonly maxBytes: number | null
  readonly body: Readable | Uint8Array
}

const Nothing = z.object({})

/**
 * Speaks guest/PROTOCOL.md over a link. Every answer is parsed and bounded. Methods reject with
 * `HoltError` for faults of the request (such as a missing path), and with `EngineError` for faults
 * of the guest or the link.
 */
export class GuestClient {
  readonly #link: GuestLink
  readonly #budget: AnswerBudget
  readonly #operation: () => string | null
  /**
   * A request that changes something carries the id that `operation` returns, if any. A request
   * repeated under the same id is answered again and not done again.
   */
  constructor(link: GuestLink, { operation = () => null }: { readonly operation?: () => string | null } = {}) {
    this.#link = link
    this.#budget = budgetOf(link)
    this.#operation = operation
  }

  info(signal: AbortSignal): Promise<GuestInfo> {
    return this.#ask({ method: 'GET', path: '/v1/info', signal }, GuestInfo)
  }

  /** Returns the usage inside, as counted by the runtime's own kernel. */
  usage(signal: AbortSignal): Promise<GuestUsage> {
    return this.#ask({ method: 'GET', path: '/v1/usage', signal }, GuestUsage)
  }

  /**
   * Gives the runtime its identity. The same id again is success, and changes nothing without
   * `renew`. Another id without `renew` is a `conflict`.
   */
  async bind(request: BindRequest, signal: AbortSignal): Promise<GuestBound> {
    const bound = await this.#post('/v1/bind', request, GuestBound, signal)
    if (bound.runtime_id !== request.runtime_id) throw answeredWrongly('bound to another runtime')
    return bound
  }

  /** Lets an unbound runtime run commands. They continue when it is bound. */
  seed(request: SeedRequest, signal: AbortSignal): Promise<GuestSeeded> {
    return this.#post('/v1/seed', request, GuestSeeded, signal)
  }

  /**
   * Gives a bound runtime a network, replaces it, or removes it. The answer reports whether it
   * works, and what could not be applied.
   */
  setNetwork(network: GuestNetwork | null, signal: AbortSignal): Promise<GuestNetworkSet> {
    return this.#ask({ method: 'PUT', path: '/v1/network', ...json({ network }), signal }, GuestNetworkSet)
  }

  /**
   * Makes the guest close its connection, so that a checkpoint can be taken. If processes run, it
   * requires `force`.
   */
  async quiesce(signal: AbortSignal, { force = false } = {}): Promise<void> {
    await this.#post(`/v1/quiesce${force ? '?force=1' : ''}`, {}, Nothing, signal)
  }

  /**
   * Kills the processes with the most memory, because the runtime is above its limit: until
   * `free_bytes` are free, and none with fewer than `least_bytes`. With `whole` it kills the whole
   * command that a process belongs to.
   */
  async relieveMemory(
    request: {
      readonly limit_bytes: number
      readonly free_bytes: number
      readonly least_bytes: number
      readonly whole: boolean
    },
    signal: AbortSignal,
  ): Promise<GuestRelief> {
    return this.#post('/v1/memory/relief', request, GuestRelief, signal)
  }

  async startProcess(request: StartProcess, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(request.id, await this.#post('/v1/processes', request, GuestProcess, signal))
  }

  /**
   * Starts a process and follows it: the items begin with `start` and end with `end`. Rejects when
   * it cannot be started.
   */
  async runProcess(request: StartProcess, signal: AbortSignal): Promise<AsyncGenerator<GuestItem>> {
    const response = await this.#link.request({
      method: 'POST',
      path: '/v1/processes?follow=1',
      ...json(request),
      follows: true,
      signal,
    })
    if (response.status !== 200) throw await readFailure(response, this.#budget)
    return readItems(response.body)
  }

  async listProcesses(signal: AbortSignal): Promise<readonly GuestProcess[]> {
    return (await this.#ask({ method: 'GET', path: '/v1/processes', signal }, GuestProcesses)).processes
  }

  async getProcess(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#ask({ method: 'GET', path: `/v1/processes/${id}`, signal }, GuestProcess))
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
    const path = `/v1/processes/${id}/output?cursor=${cursor}&follow=${follow ? 1 : 0}${hold ? '&hold=1' : ''}`
    const response = await this.#link.request({ method: 'GET', path, follows: follow, signal })
    if (response.status !== 200) throw await readFailure(response, this.#budget)
    return readItems(response.body)
  }

  /**
   * Returns the number of bytes added and the offset of the next write. Bytes before `offset` that
   * arrived already are skipped.
   */
  writeStdin(
    id: string,
    { data, eof, offset }: { data: Uint8Array; eof: boolean; offset: number | null },
    signal: AbortSignal,
  ): Promise<GuestStdinWritten> {
    const path = `/v1/processes/${id}/stdin?eof=${eof ? 1 : 0}${offset === null ? '' : `&offset=${offset}`}`
    return this.#ask(this.#once({ method: 'POST', path, body: data, signal }), GuestStdinWritten)
  }

  async listSessions(signal: AbortSignal): Promise<readonly GuestSession[]> {
    return (await this.#ask({ method: 'GET', path: '/v1/sessions', signal }, GuestSessions)).sessions
  }

  /** Ends a session. Resolves when none of its processes is left. */
  async endSession(name: string, signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'DELETE', path: `/v1/sessions/${encodeURIComponent(name)}`, signal }, Nothing)
  }

  async signalProcess(id: string, name: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#change(`/v1/processes/${id}/signal`, { signal: name }, GuestProcess, signal))
  }

  async resizeProcess(id: string, size: GuestTerminal, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#change(`/v1/processes/${id}/resize`, size, GuestProcess, signal))
  }

  /** Kills every process of a command. Resolves when none is left. */
  async killProcess(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#ask({ method: 'DELETE', path: `/v1/processes/${id}`, signal }, GuestProcess))
  }

  async stat(path: string, signal: AbortSignal): Promise<GuestFile> {
    const request = { method: 'GET', path: `/v1/files/stat?${query({ path })}`, signal } as const
    return fileAsked(path, await this.#ask(request, GuestFile))
  }

  /**
   * Returns entries below a directory, sorted by path. `after` is the last path already seen,
   * relative to `path`, percent-encoded.
   */
  async list(
    { after, ...rest }: { path: string; depth: number; limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<GuestFiles> {
    const path = `/v1/files/list?${query(rest)}${after === null ? '' : `&after=${after}`}`
    return entriesAsked(rest.path, await this.#ask({ method: 'GET', path, signal }, GuestFiles))
  }

  async readContent(
    { path, range, ifRange = null }: { path: string; range: string | null; ifRange?: string | null },
    signal: AbortSignal,
  ): Promise<GuestContent> {
    const headers = range === null ? {} : { range, ...(ifRange === null ? {} : { 'if-range': ifRange }) }
    const response = await this.#link.request({
      method: 'GET',
      path: `/v1/files/content?${query({ path })}`,
      headers,
      signal,
    })
    const { status, body } = response
    if (status !== 200 && status !== 206) throw await readFailure(response, this.#budget)
    const parsed = GuestContentHeaders.safeParse(response.headers)
    if (parsed.success) return { status, body, headers: parsed.data }
    body.destroy()
    throw refusedBy(parsed.error)
  }

  async writeContent(
    request: WriteContent,
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    return this.#fileMade(request.path, await this.#put(request, {}, signal))
  }

  /** Writes a part of a file. The file appears with its last part. */
  async writePart({ uploadId, offset, partial, ...request }: WritePart, signal: AbortSignal): Promise<Written> {
    const response = await this.#put(request, { upload_id: uploadId, offset, partial: flag(partial) }, signal)
    if (!partial) return { type: 'file', ...(await this.#fileMade(request.path, response)) }
    const upload = await readAnswer(response, GuestUpload, this.#budget)
    return { type: 'part', upload: uploadAsked({ path: request.path, upload_id: uploadId }, upload) }
  }

  /** Returns the progress of an upload in parts. An unknown upload has 0 bytes. */
  async uploadStatus(upload: { path: string; upload_id: string }, signal: AbortSignal): Promise<GuestUpload> {
    const request = { method: 'GET', path: `/v1/files/upload?${query(upload)}`, signal } as const
    return uploadAsked(upload, await this.#ask(request, GuestUpload))
  }

  /** Removes what has arrived of an upload. A missing upload is success. */
  async abortUpload(upload: { path: string; upload_id: string }, signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'DELETE', path: `/v1/files/upload?${query(upload)}`, signal }, Nothing)
  }

  async makeDirectory(
    request: { path: string; parents: boolean; mode: string | null; user: string | null },
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    const response = await this.#link.request(
      this.#once({ method: 'POST', path: '/v1/files/mkdir', ...json(request), signal }),
    )
    return this.#fileMade(request.path, response)
  }

  async remove(request: { path: string; recursive: boolean }, signal: AbortSignal): Promise<void> {
    await this.#change('/v1/files/remove', request, Nothing, signal)
  }

  async move(
    request: { source: string; destination: string; overwrite: boolean },
    signal: AbortSignal,
  ): Promise<GuestFile> {
    return fileAsked(request.destination, await this.#change('/v1/files/move', request, GuestFile, signal))
  }

  async copy(
    request: { source: string; destination: string; recursive: boolean; overwrite: boolean },
    signal: AbortSignal,
  ): Promise<GuestFile> {
    return fileAsked(request.destination, await this.#change('/v1/files/copy', request, GuestFile, signal))
  }

  /** Returns the ports on which programs listen, in order. */
  async listPorts(signal: AbortSignal): Promise<readonly number[]> {
    return (await this.#ask({ method: 'GET', path: '/v1/ports', signal }, GuestPorts)).ports
  }

  /** Returns true if a program listens on a port, after waiting up to `waitMs`. */
  async waitForPort(port: number, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const path = `/v1/ports/${port}?wait_ms=${waitMs}`
    const answer = await this.#ask({ method: 'GET', path, follows: waitMs > 0, signal }, GuestPort)
    if (answer.port !== port) throw answeredWrongly('another port than the requested one')
    return answer.listening
  }

  /**
   * Opens a connection to a port. Rejects with `port_not_listening` if no program listens. Aborting
   * the signal resets the connection.
   */
  async connectPort(port: number, signal: AbortSignal): Promise<PortStream> {
    const outgoing = new PassThrough({ highWaterMark: 1024 * 1024 })
    outgoing.on('error', () => {
      // The answer's body, or its absence, gives the reason.
    })
    try {
      const request = { method: 'POST', path: `/v1/ports/${port}/connect`, body: outgoing, signal } as const
      const response = await this.#link.request({ ...request, follows: true })
      if (response.status !== 200) throw await readFailure(response, this.#budget)
      return new PortStream({ incoming: response.body, outgoing })
    } catch (error) {
      outgoing.destroy()
      throw error
    }
  }

  async makeSymlink(
    request: { path: string; target: string; overwrite: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    const response = await this.#link.request(
      this.#once({ method: 'POST', path: '/v1/files/symlink', ...json(request), signal }),
    )
    return this.#fileMade(request.path, response)
  }

  changeMode(request: { path: string; mode: string; recursive: boolean }, signal: AbortSignal): Promise<GuestChanged> {
    return this.#changeAttributes('/v1/files/chmod', request, signal)
  }

  changeOwner(request: { path: string; user: string; recursive: boolean }, signal: AbortSignal): Promise<GuestChanged> {
    return this.#changeAttributes('/v1/files/chown', request, signal)
  }

  /**
   * Searches, and returns matches as they are found; the items end with `end`. Returns no more than
   * requested.
   */
  async search(request: SearchRequest, signal: AbortSignal): Promise<AsyncGenerator<GuestSearchItem>> {
    const response = await this.#link.request({ method: 'POST', path: '/v1/files/search', ...json(request), signal })
    if (response.status !== 200) throw await readFailure(response, this.#budget)
    const items = boundedMatches(readItemsOf(response.body, GuestSearchItem), request.max_results)
    return itemsWithin(request.path, items)
  }

  /** Searches, and collects all matches. */
  async searchAll(request: SearchRequest, signal: AbortSignal): Promise<SearchFindings> {
    const matches: GuestMatch[] = []
    let taken = 0
    try {
      for await (const item of await this.search(request, signal)) {
        if (item.type === 'end') return { matches, end: item }
        const bytes = 2 * lengthOf(item)
        this.#budget.take(bytes)
        taken += bytes
        matches.push(item)
      }
      throw new EngineError('unavailable', 'the guest interrupted a search')
    } finally {
      this.#budget.give(taken)
    }
  }

  async replace(request: ReplaceRequest, signal: AbortSignal): Promise<GuestReplaced> {
    return replacedAsked(request, await this.#change('/v1/files/replace', request, GuestReplaced, signal))
  }

  #put(
    { body, createOnly, partSha256, ...rest }: WriteContent,
    more: Readonly<Record<string, string | number>>,
    signal: AbortSignal,
  ): Promise<GuestResponse> {
    const values = { ...rest, create_only: flag(createOnly), part_sha256: partSha256, ...more }
    return this.#link.request({ method: 'PUT', path: `/v1/files/content?${query(values)}`, body, signal })
  }

  /** Returns a tree as tar or tar.gz. */
  async readArchive(
    { path, format }: { path: string; format: 'tar' | 'tar.gz' },
    signal: AbortSignal,
  ): Promise<Readable> {
    const response = await this.#link.request({
      method: 'GET',
      path: `/v1/files/archive?${query({ path, format })}`,
      signal,
    })
    if (response.status === 200) return response.body
    throw await readFailure(response, this.#budget)
  }

  /** Makes a tree from an archive. */
  async writeArchive(
    request: WriteArchive,
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly tree: GuestTree }> {
    const { path, format, user, maxBytes } = request
    const fields = query({
      path,
      format: format ?? undefined,
      user: user ?? undefined,
      keep_owners: request.keepOwners ? 1 : 0,
      overwrite: request.overwrite ? 1 : 0,
      merge: request.merge ? 1 : 0,
      max_entries: request.maxEntries,
      max_bytes: maxBytes ?? undefined,
    })
    const { body } = request
    const response = await this.#link.request({ method: 'PUT', path: `/v1/files/archive?${fields}`, body, signal })
    const tree = await readAnswer(response, GuestTree, this.#budget)
    fileAsked(path, tree.entry)
    return { created: response.status === 201, tree }
  }

  /**
   * Exports the root directory for an image, as tar: without mounts, and without the guest's own
   * files.
   */
  async exportTree(
    { onlyChanged, live = false, exclude = [] }: ExportTree,
    signal: AbortSignal,
  ): Promise<ExportedTree> {
    const response = await this.#stream('/v1/export', { only_changed: onlyChanged, live, exclude }, signal)
    return { onlyChanged: saysYes(response, 'x-holt-only-changed'), body: response.body }
  }

  /**
   * Returns parts of the tree as tar, with owners; without mounts and without the guest's changes.
   */
  async selectPaths(request: SelectPaths, signal: AbortSignal): Promise<SelectedPaths> {
    const { sources, exclude = [], parents = false } = request
    const response = await this.#stream('/v1/select', { sources, exclude, parents }, signal)
    const { headers, body } = response
    const matches = headers['x-holt-matches'] ?? ''
    if (!/^[1-9]\d{0,9}$/.test(matches)) {
      body.destroy()
      throw answeredWrongly('the header x-holt-matches')
    }
    return { matches: Number(matches), singleFile: saysYes(response, 'x-holt-single-file'), body }
  }

  /**
   * Writes a tar stream into the tree, in place. A failure midway leaves the entries written
   * before.
   */
  applyTree({ body, ...request }: ApplyTree, signal: AbortSignal): Promise<GuestApplied> {
    const fields = query({
      destination: request.destination,
      single: flag(request.singleFile),
      keep_owners: flag(request.keepOwners),
      unpack: flag(request.unpack),
      chown: request.chown ?? undefined,
      mode: request.mode ?? undefined,
    })
    return this.#ask({ method: 'PUT', path: `/v1/apply?${fields}`, body, signal }, GuestApplied)
  }

  /** Puts directories and files at places of the tree: all of them, or none. */
  async addMounts(mounts: readonly TreeMount[], signal: AbortSignal): Promise<void> {
    const items = mounts.map(({ mode = '', uid = 0, gid = 0, content, ...rest }) => ({
      ...rest,
      mode,
      uid,
      gid,
      content: content === undefined ? null : Buffer.from(content).toString('base64'),
    }))
    await this.#post('/v1/mounts', { mounts: items }, Nothing, signal)
  }

  /** Restores the entries that `addMounts` replaced. Nothing to restore is success. */
  async clearMounts(signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'DELETE', path: '/v1/mounts', signal }, Nothing)
  }

  /**
   * Watches a directory for changes, after `cursor` or from now on. Rejects if it cannot be
   * watched.
   */
  async watch(
    { path, recursive, cursor }: { path: string; recursive: boolean; cursor: number | null },
    signal: AbortSignal,
  ): Promise<AsyncGenerator<GuestChange>> {
    const fields = query({ path, recursive: recursive ? 1 : 0, cursor: cursor ?? undefined })
    const response = await this.#link.request({
      method: 'GET',
      path: `/v1/files/watch?${fields}`,
      follows: true,
      signal,
    })
    if (response.status !== 200) throw await readFailure(response, this.#budget)
    return itemsWithin(path, readItemsOf(response.body, GuestChange))
  }

  async #fileMade(
    path: string,
    response: GuestResponse,
  ): Promise<{ readonly created: boolean; readonly file: GuestFile }> {
    const file = fileAsked(path, await readAnswer(response, GuestFile, this.#budget))
    return { created: response.status === 201, file }
  }

  async #changeAttributes(route: string, request: { path: string }, signal: AbortSignal): Promise<GuestChanged> {
    const changed = await this.#change(route, request, GuestChanged, signal)
    fileAsked(request.path, changed.entry)
    return changed
  }

  async #stream(path: string, body: object, signal: AbortSignal): Promise<GuestResponse> {
    const response = await this.#link.request({ method: 'POST', path, ...json(body), signal })
    if (response.status === 200) return response
    throw await readFailure(response, this.#budget)
  }

  #post<Schema extends z.ZodType>(
    path: string,
    body: object,
    answer: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    return this.#ask({ method: 'POST', path, ...json(body), signal }, answer)
  }

  #change<Schema extends z.ZodType>(
    path: string,
    body: object,
    answer: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    return this.#ask(this.#once({ method: 'POST', path, ...json(body), signal }), answer)
  }

  #once(request: GuestRequest): GuestRequest {
    const operation = this.#operation()
    if (operation === null) return request
    return { ...request, headers: { ...request.headers, 'x-holt-operation': operation } }
  }

  async #ask<Schema extends z.ZodType>(request: GuestRequest, answer: Schema): Promise<z.output<Schema>> {
    const response: GuestResponse = await this.#link.request(request)
    return readAnswer(response, answer, this.#budget)
  }
}

/** Returns the value of a boolean header. */
function saysYes({ headers, body }: GuestResponse, name: string): boolean {
  const said = headers[name]
  if (said === '1' || said === '0') return said === '1'
  body.destroy()
  throw answeredWrongly(`the header ${name}`)
}

function flag(value: boolean): 0 | 1 {
  return value ? 1 : 0
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
