import { PassThrough, type Readable } from 'node:stream'
import { z } from 'zod'
import { EngineError } from '../contract.ts'
import type { GuestLink, GuestRequest, GuestResponse } from '../guest-link.ts'
import { type AnswerBudget, budgetOf } from './answer-budget.ts'
import { answeredWrongly, refusedBy } from './answered-wrongly.ts'
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
} from './file-requests.ts'
import { GuestChanged, GuestReplaced, GuestSearchItem, GuestUpload } from './file-schemas.ts'
import { PortStream } from './port-stream.ts'
import { readAnswer, readFailure } from './read-answer.ts'
import { readItems, readItemsOf } from './read-items.ts'
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
  GuestSeeded,
  type GuestSession,
  GuestSessions,
  GuestStdinWritten,
  type GuestTerminal,
  GuestUsage,
} from './schemas.ts'
import type { ApplyTree, ExportedTree, ExportTree, SelectedPaths, SelectPaths, TreeMount } from './tree-requests.ts'
import { GuestApplied, GuestChange, GuestTree } from './tree-schemas.ts'

/** The network that a guest sets up inside. Everything that leaves by it goes through the egress socket. */
export interface GuestNetwork {
  /** The address that answers DNS. */
  readonly resolver: string
  /** The runtime's own. */
  readonly address: string
  readonly mtu: number
  /** What `Egress.prepareTun` answered. */
  readonly tun: 'create' | 'socket'
  /** PEM, put into the trust stores inside. */
  readonly ca_certificates: readonly string[]
}

/** Who a runtime is, told to its guest once, and after every restore of a runtime that was bound already. */
export interface BindRequest {
  readonly runtime_id: string
  /** Whether the runtime becomes this one also where it is bound, to this id or another: all that the request says is applied anew. */
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
  /** The most processes, where the guest itself must see to it. */
  readonly pids_max: number | null
  readonly set_clock: boolean
  readonly set_hostname: boolean
  /** Whether members of the group `sudo` may be root by the guest's leave, where the kernel ignores the setuid bit. */
  readonly sudo: boolean
  /** Absent is null: no device, no route, no resolver. */
  readonly network?: GuestNetwork | null
}

/** What commands of a runtime begin with that nobody owns yet. */
export type SeedRequest = Pick<BindRequest, 'env' | 'user' | 'workdir' | 'pids_max' | 'sudo'> & {
  readonly network: GuestNetwork | null
  /** What its `bind` will say unless somebody wants another name: then there is nothing to write. Not for a runtime that is checkpointed, as what is made of it would share them. */
  readonly names?: Pick<BindRequest, 'hostname' | 'machine_id' | 'set_hostname'>
}

/** A process to start. Exactly one of `command` and `argv` is not null. */
export interface StartProcess {
  readonly id: string
  readonly command: string | null
  readonly argv: readonly string[] | null
  readonly cwd: string | null
  readonly env: Readonly<Record<string, string>> | null
  /** The environment is `env` and, where that does not name them, HOME and what names the network's certificates: nothing of the bound one or of the user. */
  readonly env_exact?: boolean
  readonly user: string | null
  readonly stdin: 'none' | 'pipe'
  /** Base64; written, then stdin is closed. */
  readonly stdin_data: string | null
  /** 0: none. */
  readonly timeout_ms: number
  readonly ring_bytes: number | null
  /** By the names of setrlimit(2); null is unlimited. */
  readonly rlimits?: Readonly<Record<string, { readonly soft: number | null; readonly hard: number | null }>>
  /** The shell session that it runs in. */
  readonly session?: string
  /** A terminal of this size for its standard input and output, which is then one stream. */
  readonly pty: GuestTerminal | null
  /** Whether it waits, for seconds at the most, until somebody reads its output with `hold`. */
  readonly await_reader: boolean
  /** Whether the guest forgets it when it has ended: what follows it hears its end. */
  readonly transient?: boolean
  /** Whether the runtime counts as idle while it runs: it is none of `GuestInfo.foreground`. */
  readonly background?: boolean
}

/** A file's bytes with what the guest says of them. */
export interface GuestContent {
  readonly status: 200 | 206
  readonly headers: GuestContentHeaders
  readonly body: Readable
}

/** An archive that becomes a tree; null: what the guest does by itself. */
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
 * Speaks guest/PROTOCOL.md over a link. Every answer is parsed and bounded. Methods reject with `HoltError` for what the caller's request causes
 * (a missing path, say), and with `EngineError` for what the guest or the link causes.
 */
export class GuestClient {
  readonly #link: GuestLink
  readonly #budget: AnswerBudget
  readonly #operation: () => string | null
  /** What changes something is told `operation`, where that answers one: asked for again under the same, it is answered again and not done again. */
  constructor(link: GuestLink, { operation = () => null }: { readonly operation?: () => string | null } = {}) {
    this.#link = link
    this.#budget = budgetOf(link)
    this.#operation = operation
  }

  info(signal: AbortSignal): Promise<GuestInfo> {
    return this.#ask({ method: 'GET', path: '/v1/info', signal }, GuestInfo)
  }

  /** What runs inside, as its own kernel counts it. */
  usage(signal: AbortSignal): Promise<GuestUsage> {
    return this.#ask({ method: 'GET', path: '/v1/usage', signal }, GuestUsage)
  }

  /** Gives the runtime its identity. The same id again is success, and without `renew` does nothing; another id without it is a `conflict`. */
  async bind(request: BindRequest, signal: AbortSignal): Promise<GuestBound> {
    const bound = await this.#post('/v1/bind', request, GuestBound, signal)
    if (bound.runtime_id !== request.runtime_id) throw answeredWrongly('bound to another runtime')
    return bound
  }

  /** Has a runtime that is not bound run commands, which live on when it is. */
  seed(request: SeedRequest, signal: AbortSignal): Promise<GuestSeeded> {
    return this.#post('/v1/seed', request, GuestSeeded, signal)
  }

  /** Gives a bound runtime a network, another one, or none. The answer tells whether it holds, and what could not be applied. */
  setNetwork(network: GuestNetwork | null, signal: AbortSignal): Promise<GuestNetworkSet> {
    return this.#ask({ method: 'PUT', path: '/v1/network', ...json({ network }), signal }, GuestNetworkSet)
  }

  /** Makes the guest close its connection, so that a checkpoint can be taken. Where processes run it does so only with `force`. */
  async quiesce(signal: AbortSignal, { force = false } = {}): Promise<void> {
    await this.#post(`/v1/quiesce${force ? '?force=1' : ''}`, {}, Nothing, signal)
  }

  async startProcess(request: StartProcess, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(request.id, await this.#post('/v1/processes', request, GuestProcess, signal))
  }

  /** Starts a process and follows it: the items begin with `start` and end with `end`. Rejects when it cannot be started. */
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

  /** Output after `cursor`; with `follow` until the process has ended, and with `hold` the process waits for this reader, as for one of a pipe. */
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

  /** Answers how many bytes were added and where the next write begins. What was taken before `offset` is skipped. */
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

  /** Forgets a session and answers when nothing of its commands is left. */
  async endSession(name: string, signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'DELETE', path: `/v1/sessions/${encodeURIComponent(name)}`, signal }, Nothing)
  }

  async signalProcess(id: string, name: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#change(`/v1/processes/${id}/signal`, { signal: name }, GuestProcess, signal))
  }

  async resizeProcess(id: string, size: GuestTerminal, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#change(`/v1/processes/${id}/resize`, size, GuestProcess, signal))
  }

  /** Kills every process of a command and answers when none is left. */
  async killProcess(id: string, signal: AbortSignal): Promise<GuestProcess> {
    return processAsked(id, await this.#ask({ method: 'DELETE', path: `/v1/processes/${id}`, signal }, GuestProcess))
  }

  async stat(path: string, signal: AbortSignal): Promise<GuestFile> {
    const request = { method: 'GET', path: `/v1/files/stat?${query({ path })}`, signal } as const
    return fileAsked(path, await this.#ask(request, GuestFile))
  }

  /** Entries below a directory, sorted by path; `after` is the last path already seen, relative to `path`, percent-encoded. */
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

  /** Writes a part of a file, which appears with its last part. */
  async writePart({ uploadId, offset, partial, ...request }: WritePart, signal: AbortSignal): Promise<Written> {
    const response = await this.#put(request, { upload_id: uploadId, offset, partial: flag(partial) }, signal)
    if (!partial) return { type: 'file', ...(await this.#fileMade(request.path, response)) }
    const upload = await readAnswer(response, GuestUpload, this.#budget)
    return { type: 'part', upload: uploadAsked({ path: request.path, upload_id: uploadId }, upload) }
  }

  /** How far an upload in parts is. One that is not known has 0 bytes. */
  async uploadStatus(upload: { path: string; upload_id: string }, signal: AbortSignal): Promise<GuestUpload> {
    const request = { method: 'GET', path: `/v1/files/upload?${query(upload)}`, signal } as const
    return uploadAsked(upload, await this.#ask(request, GuestUpload))
  }

  /** Removes what has come of an upload. None is success. */
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

  /** The ports that something listens on, in order. */
  async listPorts(signal: AbortSignal): Promise<readonly number[]> {
    return (await this.#ask({ method: 'GET', path: '/v1/ports', signal }, GuestPorts)).ports
  }

  /** Whether something listens on a port; waits for it as long as it is told to. */
  async waitForPort(port: number, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const path = `/v1/ports/${port}?wait_ms=${waitMs}`
    const answer = await this.#ask({ method: 'GET', path, follows: waitMs > 0, signal }, GuestPort)
    if (answer.port !== port) throw answeredWrongly('another port than was asked for')
    return answer.listening
  }

  /** Opens a connection to a port. `port_not_listening` where nobody listens. Ending the signal resets it. */
  async connectPort(port: number, signal: AbortSignal): Promise<PortStream> {
    const outgoing = new PassThrough({ highWaterMark: 1024 * 1024 })
    outgoing.on('error', () => {
      // The answer's body, or the lack of an answer, says why.
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

  /** Searches, and answers what is found as it is found: the items end with `end`. No more come than were asked for. */
  async search(request: SearchRequest, signal: AbortSignal): Promise<AsyncGenerator<GuestSearchItem>> {
    const response = await this.#link.request({ method: 'POST', path: '/v1/files/search', ...json(request), signal })
    if (response.status !== 200) throw await readFailure(response, this.#budget)
    const items = boundedMatches(readItemsOf(response.body, GuestSearchItem), request.max_results)
    return itemsWithin(request.path, items)
  }

  /** Searches, and collects what is found. */
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
      throw new EngineError('unavailable', 'the guest broke off a search')
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

  /** A tree as tar or tar.gz. */
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

  /** Makes a tree of an archive. */
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

  /** The root directory as an image is made of it, as tar: without what is mounted over it and what the guest has put there. */
  async exportTree(
    { onlyChanged, live = false, exclude = [] }: ExportTree,
    signal: AbortSignal,
  ): Promise<ExportedTree> {
    const response = await this.#stream('/v1/export', { only_changed: onlyChanged, live, exclude }, signal)
    return { onlyChanged: saysYes(response, 'x-holt-only-changed'), body: response.body }
  }

  /** Parts of the tree as tar, with owners and all; as they are without the guest, and nothing of what is mounted. */
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

  /** Writes a tar stream into the tree, in place: what fails midway leaves what came before. */
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

  /** Puts directories and files in at places of the tree: all, or none. */
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

  /** Puts back what was there before `addMounts`. Nothing is success. */
  async clearMounts(signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'DELETE', path: '/v1/mounts', signal }, Nothing)
  }

  /** What changes in a directory, after `cursor` or from now on. Rejects when it cannot be watched. */
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

/** Reads a header that says yes or no. */
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
