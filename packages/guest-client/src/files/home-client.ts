import type { Readable } from 'node:stream'
import type { GuestRequest } from '@holt/engine'
import { answeredWrongly, refusedBy } from '../answers/answered-wrongly.ts'
import { flag, get, post, query } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { entriesAsked } from './as-asked.ts'
import type { GuestContent } from './file-requests.ts'
import { GuestContentHeaders } from './file-schemas.ts'
import { canBe } from './home-path.ts'
import { GuestEntries, GuestEntry } from './home-schemas.ts'

/**
 * A path as a user of an account gives it. `~`, `~/x` and relative paths begin at the account's
 * home, and the empty path is the home. Absolute paths need not be canonical.
 */
export interface HomePath {
  /** The name of an entry in the runtime's /etc/passwd. */
  readonly account: string
  readonly path: string
}

/** A file to write in place. Its owner becomes the account. */
export interface WriteInPlace extends HomePath {
  /**
   * The attributes that the file gets in place of all it has, by their names without the prefix;
   * null leaves them as they are.
   */
  readonly attributes: Readonly<Record<string, string>> | null
  readonly body: Readable | Uint8Array
}

/** The common beginning of the names of the attributes that entries have and files get. */
interface Prefix {
  readonly attributePrefix: string
}

/**
 * Files by paths of an account. New files and directories belong to the account. Each entry in an
 * answer has its absolute path, the target of a symlink, and the attributes that begin with the
 * prefix.
 *
 * Errors about a path have it in `details.path`, absolute. An unknown account is `invalid_request`
 * with the reason `no_such_account`.
 */
export class HomeClient {
  readonly #sender: RequestSender
  readonly #attributes: string

  constructor(sender: RequestSender, { attributePrefix }: Prefix) {
    this.#sender = sender
    this.#attributes = attributePrefix
  }

  async stat({ account, path }: HomePath, signal: AbortSignal): Promise<GuestEntry> {
    const fields = query({ path, home_of: account, ...this.#facts() })
    return this.#entry(path, get(`/v1/files/stat?${fields}`, signal))
  }

  /**
   * Returns entries below a directory, depth-first. `path` is absolute here, as an entry has it.
   * `after` is the last path already seen, relative to `path`, percent-encoded.
   */
  async list(
    { after, ...rest }: { path: string; depth: number; limit: number; after: string | null },
    signal: AbortSignal,
  ): Promise<GuestEntries> {
    const fields = query({ ...rest, ...this.#facts() })
    const path = `/v1/files/list?${fields}${after === null ? '' : `&after=${after}`}`
    return entriesAsked(rest.path, await this.#sender.ask(get(path, signal), GuestEntries))
  }

  /**
   * Makes a directory and its missing parents. `created` is false if a directory is there. Anything
   * else that is there is `already_exists`.
   */
  async makeDirectory(
    { account, path }: HomePath,
    signal: AbortSignal,
  ): Promise<{ created: boolean; entry: GuestEntry }> {
    const body = { path, home_of: account, user: account, parents: true }
    const request = this.#sender.once(post('/v1/files/mkdir', body, signal))
    const { created, answer } = await this.#sender.make(request, GuestEntry)
    return { created, entry: entryAsked(path, answer) }
  }

  /**
   * Renames a file or a directory as rename(2) does: a file replaces a file, and a directory an
   * empty directory. Missing parents of the destination are made.
   */
  rename(
    { account, source, destination }: { account: string; source: string; destination: string },
    signal: AbortSignal,
  ): Promise<GuestEntry> {
    const body = { source, destination, home_of: account, user: account, plain: true, ...this.#facts(true) }
    return this.#entry(destination, this.#sender.once(post('/v1/files/move', body, signal)))
  }

  /** Removes a file, or a directory with its content. A missing path is success. */
  remove({ account, path }: HomePath, signal: AbortSignal): Promise<void> {
    const body = { path, home_of: account, recursive: true, missing_ok: true }
    return this.#sender.tell(this.#sender.once(post('/v1/files/remove', body, signal)))
  }

  /** Returns the bytes of a file, or those of `range`, a header of RFC 9110. */
  async read(
    { account, path, range = null, ifRange = null }: HomePath & { range?: string | null; ifRange?: string | null },
    signal: AbortSignal,
  ): Promise<GuestContent> {
    const headers = range === null ? {} : { range, ...(ifRange === null ? {} : { 'if-range': ifRange }) }
    const request = { ...get(`/v1/files/content?${query({ path, home_of: account })}`, signal), headers }
    const response = await this.#sender.open(request, [200, 206])
    const parsed = GuestContentHeaders.safeParse(response.headers)
    const { status, body } = response
    if (parsed.success) return { status: status === 206 ? 206 : 200, body, headers: parsed.data }
    body.destroy()
    throw refusedBy(parsed.error)
  }

  /**
   * Writes a file under its own name. An existing file keeps its inode and mode; a symlink is
   * followed. After a failure the file has the bytes that arrived.
   */
  async write(
    { account, path, attributes, body }: WriteInPlace,
    signal: AbortSignal,
  ): Promise<{ created: boolean; entry: GuestEntry }> {
    const values = {
      path,
      home_of: account,
      user: account,
      in_place: flag(true),
      set_attributes: attributes === null ? undefined : JSON.stringify(attributes),
      ...this.#facts(),
    }
    const request: GuestRequest = { method: 'PUT', path: `/v1/files/content?${query(values)}`, body, signal }
    const { created, answer } = await this.#sender.make(request, GuestEntry)
    return { created, entry: entryAsked(path, answer) }
  }

  /** Returns the fields that ask for all facts about an entry. */
  #facts<Flag extends 1 | true = 1>(targets: Flag = 1 as Flag): { targets: Flag; attributes: string } {
    return { targets, attributes: this.#attributes }
  }

  async #entry(path: string, request: GuestRequest): Promise<GuestEntry> {
    return entryAsked(path, await this.#sender.ask(request, GuestEntry))
  }
}

/** Returns an entry. Its path must be one that the requested one can be. */
function entryAsked(path: string, entry: GuestEntry): GuestEntry {
  if (!canBe(path, entry.path)) throw answeredWrongly('another file than the requested one')
  return entry
}
