import type { Readable } from 'node:stream'
import type { GuestResponse } from '@holt/engine'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { fileAsked } from '../files/as-asked.ts'
import { flag, get, post, query } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import type { ApplyTree, ExportedTree, ExportTree, SelectedPaths, SelectPaths, WriteArchive } from './tree-requests.ts'
import { GuestApplied, GuestTree } from './tree-schemas.ts'

/** Whole trees of a runtime, as archives. */
export class TreeClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /** Returns a tree as tar or tar.gz. */
  async readArchive(
    { path, format }: { path: string; format: 'tar' | 'tar.gz' },
    signal: AbortSignal,
  ): Promise<Readable> {
    return (await this.#sender.open(get(`/v1/files/archive?${query({ path, format })}`, signal))).body
  }

  /** Makes a tree from an archive. */
  async writeArchive(
    request: WriteArchive,
    signal: AbortSignal,
  ): Promise<{ readonly created: boolean; readonly tree: GuestTree }> {
    const fields = query({
      path: request.path,
      format: request.format ?? undefined,
      user: request.user ?? undefined,
      keep_owners: flag(request.keepOwners),
      overwrite: flag(request.overwrite),
      merge: flag(request.merge),
      max_entries: request.maxEntries,
      max_bytes: request.maxBytes ?? undefined,
    })
    const { body } = request
    const put = { method: 'PUT', path: `/v1/files/archive?${fields}`, body, signal } as const
    const { created, answer: tree } = await this.#sender.make(put, GuestTree)
    fileAsked(request.path, tree.entry)
    return { created, tree }
  }

  /**
   * Exports the root directory for an image, as tar: without mounts, and without the guest's own
   * files.
   */
  async export(
    { onlyChanged, live = false, still = false, exclude = [] }: ExportTree,
    signal: AbortSignal,
  ): Promise<ExportedTree> {
    // A guest of an earlier version refuses a field that it does not know.
    const body = { only_changed: onlyChanged, live, exclude, ...(still ? { still } : {}) }
    const response = await this.#sender.open(post('/v1/export', body, signal))
    return { onlyChanged: saysYes(response, 'x-holt-only-changed'), body: response.body }
  }

  /**
   * Returns parts of the tree as tar, with owners; without mounts and without the guest's changes.
   */
  async select(request: SelectPaths, signal: AbortSignal): Promise<SelectedPaths> {
    const { sources, exclude = [], parents = false } = request
    const response = await this.#sender.open(post('/v1/select', { sources, exclude, parents }, signal))
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
  apply({ body, ...request }: ApplyTree, signal: AbortSignal): Promise<GuestApplied> {
    const fields = query({
      destination: request.destination,
      single: flag(request.singleFile),
      keep_owners: flag(request.keepOwners),
      unpack: flag(request.unpack),
      chown: request.chown ?? undefined,
      mode: request.mode ?? undefined,
    })
    return this.#sender.ask({ method: 'PUT', path: `/v1/apply?${fields}`, body, signal }, GuestApplied)
  }
}

/** Returns the value of a boolean header. */
function saysYes({ headers, body }: GuestResponse, name: string): boolean {
  const said = headers[name]
  if (said === '1' || said === '0') return said === '1'
  body.destroy()
  throw answeredWrongly(`the header ${name}`)
}
