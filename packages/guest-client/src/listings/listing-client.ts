import type { GuestResponse } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { z } from 'zod'
import { answeredWrongly } from '../answers/answered-wrongly.ts'
import { readAnswer } from '../answers/read-answer.ts'
import { get, post } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import type { ListedEntry, ListingRecord } from './listed-entry.ts'
import { readRecords } from './read-records.ts'

/** The maximum number of entries that one request may ask for. */
export const maxListedEntries = 1000

/** The largest content of a file in a baseline, in bytes. The guest keeps less. */
const maxBaselineContentBytes = 2 ** 20

const Taken = z.object({ kept: z.boolean() })

/** Descriptions of a runtime's tree, without mounts and without the guest's own changes. */
export class ListingClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /**
   * Lists the tree at an absolute path, in groups. A directory precedes its content, and `up` ends
   * it. With `prune`, the guest leaves out the content of directories in which nothing can have
   * changed. Throws `not_supported_here` for a guest of an older version.
   */
  async *tree(
    { path, prune }: { readonly path: Buffer; readonly prune: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<readonly ListingRecord[]> {
    const request = post('/v1/listing', { path_base64: path.toString('base64'), prune }, signal)
    const { status, body } = await this.#sender.open(request, [200, 404])
    if (status === 404) {
      body.destroy()
      throw tooOld()
    }
    try {
      yield* readRecords(body, { maxContentBytes: 0 })
    } finally {
      body.destroy()
    }
  }

  /**
   * Makes the guest keep a listing of the whole tree in its memory, for a checkpoint that follows.
   * Returns false if the listing is too large or takes too long. Throws `not_supported_here` for a
   * guest of an older version.
   */
  async takeBaseline(id: string, signal: AbortSignal): Promise<boolean> {
    const response = await this.#sender.open({ method: 'PUT', path: `/v1/listing/baselines/${id}`, signal }, [200, 404])
    if (response.status === 404) {
      response.body.destroy()
      throw tooOld()
    }
    return (await readAnswer(response, Taken, this.#sender.budget)).kept
  }

  /**
   * Returns the records of a baseline, in groups: that of the checkpoint from which the runtime was
   * made, or the one with an id. Null if the guest has none. The caller reads or ends them.
   */
  async baseline(id: string | null, signal: AbortSignal): Promise<AsyncGenerator<readonly ListingRecord[]> | null> {
    const request = get(`/v1/listing/baselines/${id ?? 'origin'}`, signal)
    const { status, body } = await this.#sender.open(request, [200, 204, 404])
    if (status === 200) return readAndEnd(body)
    body.destroy()
    return null
  }

  /**
   * Describes single entries by their absolute paths, in the same order; null for a missing one.
   * Files of at most `maxBytes` come with their content.
   */
  async entries(
    {
      paths,
      digest,
      maxBytes,
    }: { readonly paths: readonly Buffer[]; readonly digest: boolean; readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<readonly (ListedEntry | null)[]> {
    const request = { paths_base64: paths.map((path) => path.toString('base64')), digest, max_bytes: maxBytes }
    const { body } = await this.#sender.open(post('/v1/listing/entries', request, signal))
    const entries: (ListedEntry | null)[] = []
    try {
      for await (const group of readRecords(body, { maxContentBytes: maxBytes })) {
        for (const record of group) {
          if (record.kind === 'end') continue
          if (record.kind === 'up' || entries.length === paths.length) throw answeredWrongly('the entries of a listing')
          entries.push(record.kind === 'entry' ? record : null)
        }
      }
    } finally {
      body.destroy()
    }
    if (entries.length !== paths.length) throw answeredWrongly('the number of entries of a listing')
    return entries
  }
}

function tooOld(): HoltError {
  return new HoltError('not_supported_here', 'The guest of the runtime is too old to list its files.', {
    hint: 'Create a new runtime.',
  })
}

async function* readAndEnd(body: GuestResponse['body']): AsyncGenerator<readonly ListingRecord[]> {
  try {
    yield* readRecords(body, { maxContentBytes: maxBaselineContentBytes })
  } finally {
    body.destroy()
  }
}
