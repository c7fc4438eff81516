import type { IncomingMessage } from 'node:http'
import type { GuestClient, GuestUpload, WritePart } from '@holt/guest-client'
import { isSet } from '@holt/protocol'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import type { Inside } from '../inside.ts'
import { announcedDigests } from './content-digest.ts'
import { answerTimeoutMs } from './guest-timeouts.ts'
import { presentFile } from './present-file.ts'
import { uploadBody } from './upload-body.ts'
import { writeConditions } from './write-conditions.ts'

/** Writes a file, or a part of one. */
export async function writeFile(call: Call<'writeFile', Inside>): Promise<Answer> {
  const conditions = writeConditions(call.headers)
  const { path, mode, user, upload_id, offset = 0 } = call.query
  const digests = announcedDigests(call.headers)
  const guest = await call.guest()
  const request = {
    path,
    ...(mode === undefined ? {} : { mode: mode.padStart(4, '0') }),
    ...(user === undefined ? {} : { user }),
    ...conditions,
    ...digests,
    body: uploadBody(call.body as IncomingMessage, call.service.limits.quietBodyMs),
  }
  if (upload_id !== undefined) return writePart(call, guest, { ...request, uploadId: upload_id, offset })
  const { created, file } = await guest.content.write(request, call.gone)
  return { status: created ? 201 : 200, json: presentFile(file) }
}

async function writePart(
  { query, gone }: Call<'writeFile', Inside>,
  guest: GuestClient,
  part: Omit<WritePart, 'partial'>,
): Promise<Answer> {
  const written = await guest.content.writePart({ ...part, partial: isSet(query.partial) }, gone)
  if (written.type === 'part') return { status: 202, json: uploadOf(query.path, part.uploadId, written.upload) }
  return { status: written.created ? 201 : 200, json: presentFile(written.file) }
}

/** Returns an upload with the ids that the client sent, not the guest's. */
function uploadOf(
  path: string,
  upload_id: string,
  { offset_bytes, completed }: Pick<GuestUpload, 'offset_bytes' | 'completed'>,
) {
  return { upload_id, path, offset_bytes, completed }
}

/** Returns the progress of an upload in parts. */
export async function getUpload(call: Call<'getUpload', Inside>): Promise<Answer> {
  const { path, upload_id } = call.query
  const upload = await (await call.guest()).content.uploadStatus({ path, upload_id }, within(call, answerTimeoutMs))
  return { status: 200, json: uploadOf(path, upload_id, upload) }
}

/** Removes the received bytes of an upload in parts. */
export async function abortUpload(call: Call<'abortUpload', Inside>): Promise<Answer> {
  await (await call.guest()).content.abortUpload(call.query, within(call, answerTimeoutMs))
  return { status: 204 }
}
