import { post, remove } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import type { TreeMount } from './tree-requests.ts'

/** Entries that temporarily replace others in a runtime's tree, for a step of a build. */
export class MountClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /** Puts directories and files at places of the tree: all of them, or none. */
  add(mounts: readonly TreeMount[], signal: AbortSignal): Promise<void> {
    const items = mounts.map(({ mode = '', uid = 0, gid = 0, content, ...rest }) => ({
      ...rest,
      mode,
      uid,
      gid,
      content: content === undefined ? null : Buffer.from(content).toString('base64'),
    }))
    return this.#sender.tell(post('/v1/mounts', { mounts: items }, signal))
  }

  /** Restores the entries that `add` replaced. Nothing to restore is success. */
  clear(signal: AbortSignal): Promise<void> {
    return this.#sender.tell(remove('/v1/mounts', signal))
  }
}
