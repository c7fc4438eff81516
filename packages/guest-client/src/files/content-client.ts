import type { GuestRequest } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { refusedBy } from '../answers/answered-wrongly.ts'
import { MissingRoute } from '../answers/missing-route.ts'
import { flag, get, query, remove } from '../requests/make-request.ts'
import type { RequestSender } from '../requests/request-sender.ts'
import { fileAsked, uploadAsked } from './as-asked.ts'
import type { GuestContent, MadeFile, WriteContent, WritePart, Written } from './file-requests.ts'
import { GuestContentHeaders, GuestFile, GuestUpload } from './file-schemas.ts'

/** The bytes in the files of a runtime, read and written in one piece or in parts. */
export class ContentClient {
  readonly #sender: RequestSender

  constructor(sender: RequestSender) {
    this.#sender = sender
  }

  /** Returns the bytes of a file, or those of `range`, a header of RFC 9110. */
  async read(
    { path, range, ifRange = null }: { path: string; range: string | null; ifRange?: string | null },
    signal: AbortSignal,
  ): Promise<GuestContent> {
    const headers = range === null ? {} : { range, ...(ifRange === null ? {} : { 'if-range': ifRange }) }
    const request = { ...get(`/v1/files/content?${query({ path })}`, signal), headers }
    const response = await this.#sender.open(request, [200, 206])
    const { status, body } = response
    const parsed = GuestContentHeaders.safeParse(response.headers)
    if (parsed.success) return { status: status === 206 ? 206 : 200, body, headers: parsed.data }
    body.destroy()
    throw refusedBy(parsed.error)
  }

  /**
   * Writes a file. With `ifMatch`, throws `precondition_failed` for another version of the file,
   * and `not_supported_here` for a guest of an older version.
   */
  write(request: WriteContent, signal: AbortSignal): Promise<MadeFile> {
    return knowingConditions(() => this.#make(request.path, putRequest(request, {}, signal)))
  }

  /** Writes a part of a file, as `write` does. The file appears with its last part. */
  writePart(part: WritePart, signal: AbortSignal): Promise<Written> {
    return knowingConditions(() => this.#writePart(part, signal))
  }

  async #writePart({ uploadId, offset, partial, ...content }: WritePart, signal: AbortSignal): Promise<Written> {
    const { path } = content
    const request = putRequest(content, { upload_id: uploadId, offset, partial: flag(partial) }, signal)
    if (!partial) return { type: 'file', ...(await this.#make(path, request)) }
    const upload = await this.#sender.ask(request, GuestUpload)
    return { type: 'part', upload: uploadAsked({ path, upload_id: uploadId }, upload) }
  }

  /** Returns the progress of an upload in parts. An unknown upload has 0 bytes. */
  async uploadStatus(upload: { path: string; upload_id: string }, signal: AbortSignal): Promise<GuestUpload> {
    return uploadAsked(upload, await this.#sender.ask(get(`/v1/files/upload?${query(upload)}`, signal), GuestUpload))
  }

  /** Removes the received part of an upload. A missing upload is success. */
  abortUpload(upload: { path: string; upload_id: string }, signal: AbortSignal): Promise<void> {
    return this.#sender.tell(remove(`/v1/files/upload?${query(upload)}`, signal))
  }

  async #make(path: string, request: GuestRequest): Promise<MadeFile> {
    const { created, answer } = await this.#sender.make(request, GuestFile)
    return { created, file: fileAsked(path, answer) }
  }
}

function putRequest(
  { body, createOnly, ifMatch, partSha256, ...rest }: WriteContent,
  more: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
): GuestRequest {
  const values = { ...rest, create_only: flag(createOnly), etag: ifMatch, part_sha256: partSha256, ...more }
  const place = ifMatch === undefined ? '/v1/files/content' : '/v1/files/content/if-match'
  return { method: 'PUT', path: `${place}?${query(values)}`, body, signal }
}

/**
 * Sends a write with a condition. Only a guest that knows conditions has their path, so no other
 * overwrites the wrong version.
 */
async function knowingConditions<Answer>(write: () => Promise<Answer>): Promise<Answer> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof MissingRoute)) throw error
    throw new HoltError('not_supported_here', 'The guest of the runtime is too old for a write with a condition.', {
      hint: 'Create a new runtime, or write without If-Match.',
    })
  }
}
