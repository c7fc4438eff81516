import type { IncomingMessage } from 'node:http'
import type { GuestClient, GuestFile } from '@holt/engine'
import { type Answer, type Call, type Handlers, within } from '../http/call.ts'
import { invalidField } from '../http/field-issues.ts'
import { openGuest } from '../runtimes/open-guest.ts'
import { exactLength } from './exact-length.ts'
import { cursorAfter, pathInCursor } from './list-cursor.ts'
import { presentFile } from './present-file.ts'
import { uploadBody } from './upload-body.ts'

/** Time for the guest to answer what touches a file or a page of entries. */
const answerTimeoutMs = 60_000

/** Time for what touches a whole tree. Where the client leaves first, the guest undoes it. */
const treeTimeoutMs = 60 * 60_000

/** The routes of files. */
export const fileHandlers = {
  copyFile,
  moveFile,
  readFile,
  writeFile,
  statFile,
  listFiles,
  makeDirectory,
  removeFile,
} satisfies Partial<Handlers>

type FileCall = {
  [Name in keyof typeof fileHandlers]: Call<Name>
}[keyof typeof fileHandlers]

async function guestOf({
  service,
  caller,
  params,
}: Pick<FileCall, 'service' | 'caller' | 'params'>): Promise<GuestClient> {
  return (await openGuest(service, { projectId: caller.projectId, runtimeId: params.runtime_id })).guest
}

async function copyFile(call: Call<'copyFile'>): Promise<Answer> {
  keepRoot(call.body)
  return transferred(call.body, await (await guestOf(call)).copy(call.body, within(call, treeTimeoutMs)))
}

async function moveFile(call: Call<'moveFile'>): Promise<Answer> {
  keepRoot(call.body)
  return transferred(call.body, await (await guestOf(call)).move(call.body, within(call, treeTimeoutMs)))
}

/** Nothing can take the place of the root directory, whatever a guest would make of it. */
function keepRoot({ destination, overwrite }: { destination: string; overwrite: boolean }): void {
  if (destination === '/' && overwrite)
    throw invalidField('/destination', 'must not be the root directory, which cannot be replaced')
}

function transferred({ source, destination }: { source: string; destination: string }, entry: GuestFile): Answer {
  return { status: 200, json: { success: true, source, destination, entry: presentFile(entry) } }
}

async function statFile(call: Call<'statFile'>): Promise<Answer> {
  const file = await (await guestOf(call)).stat(call.query.path, within(call, answerTimeoutMs))
  return { status: 200, json: presentFile(file) }
}

async function listFiles(call: Call<'listFiles'>): Promise<Answer> {
  const { path, depth, limit, cursor } = call.query
  const after = cursor === undefined ? null : pathInCursor(cursor)
  const { entries, more } = await (await guestOf(call)).list(
    { path, depth, limit, after },
    within(call, answerTimeoutMs),
  )
  const shown = entries.slice(0, limit)
  const last = shown.at(-1)
  const next = (more || entries.length > limit) && last !== undefined ? cursorAfter(path, last) : null
  return { status: 200, json: { data: shown.map(presentFile), next_cursor: next } }
}

async function makeDirectory(call: Call<'makeDirectory'>): Promise<Answer> {
  const { path, parents, mode, user } = call.body
  const request = { path, parents, mode: mode?.padStart(4, '0') ?? null, user: user ?? null }
  const { created, file } = await (await guestOf(call)).makeDirectory(request, within(call, answerTimeoutMs))
  return { status: created ? 201 : 200, json: presentFile(file) }
}

async function removeFile(call: Call<'removeFile'>): Promise<Answer> {
  await (await guestOf(call)).remove(call.body, within(call, treeTimeoutMs))
  return { status: 200, json: { success: true, path: call.body.path } }
}

async function writeFile(call: Call<'writeFile'>): Promise<Answer> {
  const condition = call.headers['if-none-match']
  if (condition !== undefined && condition !== '*') throw invalidField('/header/If-None-Match', 'must be *')
  const { path, mode, user } = call.query
  const guest = await guestOf(call)
  const request = {
    path,
    ...(mode === undefined ? {} : { mode: mode.padStart(4, '0') }),
    ...(user === undefined ? {} : { user }),
    createOnly: condition === '*',
    body: uploadBody(call.body as IncomingMessage),
  }
  const { created, file } = await guest.writeContent(request, call.gone)
  return { status: created ? 201 : 200, json: presentFile(file) }
}

/** What of a guest's headers is passed on, and the only form in which it is. */
const passedHeaders: Readonly<Record<string, RegExp>> = {
  'content-length': /^\d{1,16}$/,
  'content-range': /^bytes (?:\d{1,16}-\d{1,16}|\*)\/\d{1,16}$/,
  etag: /^"[\x21\x23-\x7e]{1,128}"$/,
  'last-modified': /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  'x-holt-mode': /^[0-7]{4}$/,
}

async function readFile(call: Call<'readFile'>): Promise<Answer> {
  const range = call.headers.range ?? null
  const guest = await guestOf(call)
  // A range of another form is as if there were none (RFC 9110, 14.2).
  const asked = range !== null && /^bytes=(?:\d{1,16}-\d{0,16}|-\d{1,16})$/.test(range) ? range : null
  const content = await guest.readContent({ path: call.query.path, range: asked }, call.gone)
  const headers: Record<string, string> = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes' }
  for (const [name, form] of Object.entries(passedHeaders)) {
    const value = content.headers[name]
    if (value !== undefined && form.test(value)) headers[name] = value
  }
  const length = headers['content-length']
  const bytes = length === undefined ? content.body : exactLength(content.body, Number(length))
  return { status: content.status, bytes, headers }
}
