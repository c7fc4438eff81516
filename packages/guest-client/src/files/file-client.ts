import type { GuestRequest } from '@holt/engine'
import { readItems } from '../answers/read-items.ts'
import { flag, get, post, query } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { entriesAsked, fileAsked, itemsWithin } from './as-asked.ts'
import { GuestChange } from './change-schema.ts'
import type { MadeFile } from './file-requests.ts'
import { GuestChanged, GuestFile, GuestFiles } from './file-schemas.ts'

/** The files of a runtime by their names: facts, directories, symlinks, modes, owners, changes. */
export class FileClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  async stat(path: string, signal: AbortSignal): Promise<GuestFile> {
    return fileAsked(path, await this.#sender.ask(get(`/v1/files/stat?${query({ path })}`, signal), GuestFile))
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
    return entriesAsked(rest.path, await this.#sender.ask(get(path, signal), GuestFiles))
  }

  makeDirectory(
    request: { path: string; parents: boolean; mode: string | null; user: string | null },
    signal: AbortSignal,
  ): Promise<MadeFile> {
    return this.#make(request.path, post('/v1/files/mkdir', request, signal))
  }

  makeSymlink(request: { path: string; target: string; overwrite: boolean }, signal: AbortSignal): Promise<MadeFile> {
    return this.#make(request.path, post('/v1/files/symlink', request, signal))
  }

  remove(request: { path: string; recursive: boolean }, signal: AbortSignal): Promise<void> {
    return this.#sender.tell(this.#sender.once(post('/v1/files/remove', request, signal)))
  }

  move(request: { source: string; destination: string; overwrite: boolean }, signal: AbortSignal): Promise<GuestFile> {
    return this.#transfer(request.destination, post('/v1/files/move', request, signal))
  }

  copy(
    request: { source: string; destination: string; recursive: boolean; overwrite: boolean },
    signal: AbortSignal,
  ): Promise<GuestFile> {
    return this.#transfer(request.destination, post('/v1/files/copy', request, signal))
  }

  changeMode(request: { path: string; mode: string; recursive: boolean }, signal: AbortSignal): Promise<GuestChanged> {
    return this.#changeAttributes(request.path, post('/v1/files/chmod', request, signal))
  }

  changeOwner(request: { path: string; user: string; recursive: boolean }, signal: AbortSignal): Promise<GuestChanged> {
    return this.#changeAttributes(request.path, post('/v1/files/chown', request, signal))
  }

  /**
   * Watches a directory for changes, after `cursor` or from now on. Rejects if it cannot be
   * watched.
   */
  async watch(
    { path, recursive, cursor }: { path: string; recursive: boolean; cursor: number | null },
    signal: AbortSignal,
  ): Promise<AsyncGenerator<GuestChange>> {
    const fields = query({ path, recursive: flag(recursive), cursor: cursor ?? undefined })
    const { body } = await this.#sender.open({ ...get(`/v1/files/watch?${fields}`, signal), follows: true })
    return itemsWithin(path, readItems(body, GuestChange))
  }

  async #make(path: string, request: GuestRequest): Promise<MadeFile> {
    const { created, answer } = await this.#sender.make(this.#sender.once(request), GuestFile)
    return { created, file: fileAsked(path, answer) }
  }

  async #transfer(destination: string, request: GuestRequest): Promise<GuestFile> {
    return fileAsked(destination, await this.#sender.ask(this.#sender.once(request), GuestFile))
  }

  async #changeAttributes(path: string, request: GuestRequest): Promise<GuestChanged> {
    const changed = await this.#sender.ask(this.#sender.once(request), GuestChanged)
    fileAsked(path, changed.entry)
    return changed
  }
}
