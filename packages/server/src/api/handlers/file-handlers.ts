import type { GuestFile } from '@holt/guest-client'
import { etagForm } from '@holt/protocol'
import { type Answer, type Call, within } from '../../foundation/wire/call.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import { changeMode, changeOwner, makeSymlink } from '../../inside/files/change-attributes.ts'
import { exactLength } from '../../inside/files/exact-length.ts'
import { answerTimeoutMs, treeTimeoutMs } from '../../inside/files/guest-timeouts.ts'
import { cursorAfter, pathInCursor } from '../../inside/files/list-cursor.ts'
import { presentFile } from '../../inside/files/present-file.ts'
import { searchFiles } from '../../inside/files/search-files.ts'
import { abortUpload, getUpload, writeFile } from '../../inside/files/write-file.ts'
import type { Api, Handlers } from '../api.ts'

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
  makeSymlink,
  changeMode,
  changeOwner,
  searchFiles,
  replaceInFiles,
  getUpload,
  abortUpload,
} satisfies Partial<Handlers>

async function copyFile(call: Call<'copyFile', Api>): Promise<Answer> {
  keepRoot(call.body)
  return transferred(call.body, await (await call.guest()).files.copy(call.body, within(call, treeTimeoutMs)))
}

async function moveFile(call: Call<'moveFile', Api>): Promise<Answer> {
  keepRoot(call.body)
  return transferred(call.body, await (await call.guest()).files.move(call.body, within(call, treeTimeoutMs)))
}

/** Refuses the root directory as a destination. Nothing can replace it, in any guest. */
function keepRoot({ destination, overwrite }: { destination: string; overwrite: boolean }): void {
  if (destination === '/' && overwrite)
    throw invalidField('/destination', 'must not be the root directory, which cannot be replaced')
}

function transferred({ source, destination }: { source: string; destination: string }, entry: GuestFile): Answer {
  return { status: 200, json: { success: true, source, destination, entry: presentFile(entry) } }
}

async function statFile(call: Call<'statFile', Api>): Promise<Answer> {
  const file = await (await call.guest()).files.stat(call.query.path, within(call, answerTimeoutMs))
  return { status: 200, json: presentFile(file) }
}

async function listFiles(call: Call<'listFiles', Api>): Promise<Answer> {
  const { path, depth, limit, cursor } = call.query
  const after = cursor === undefined ? null : pathInCursor(cursor)
  const { entries, more } = await (await call.guest()).files.list(
    { path, depth, limit, after },
    within(call, answerTimeoutMs),
  )
  const shown = entries.slice(0, limit)
  const last = shown.at(-1)
  const next = (more || entries.length > limit) && last !== undefined ? cursorAfter(path, last) : null
  return { status: 200, json: { data: shown.map(presentFile), next_cursor: next } }
}

async function makeDirectory(call: Call<'makeDirectory', Api>): Promise<Answer> {
  const { path, parents, mode, user } = call.body
  const request = { path, parents, mode: mode?.padStart(4, '0') ?? null, user: user ?? null }
  const { created, file } = await (await call.guest()).files.makeDirectory(request, within(call, answerTimeoutMs))
  return { status: created ? 201 : 200, json: presentFile(file) }
}

async function removeFile(call: Call<'removeFile', Api>): Promise<Answer> {
  await (await call.guest()).files.remove(call.body, within(call, treeTimeoutMs))
  return { status: 200, json: { success: true, path: call.body.path } }
}

async function replaceInFiles(call: Call<'replaceInFiles', Api>): Promise<Answer> {
  const { glob, path, paths, expected_count, ...rest } = call.body
  const request = {
    ...rest,
    globs: glob,
    path: path ?? null,
    paths: paths ?? null,
    expected_count: expected_count ?? null,
  }
  const { files, total_count } = await (await call.guest()).search.replace(request, within(call, treeTimeoutMs))
  return { status: 200, json: { files, total_count, dry_run: rest.dry_run } }
}

/** A date that HTTP can express: the year has four digits. */
const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /

async function readFile(call: Call<'readFile', Api>): Promise<Answer> {
  const range = call.headers.range ?? null
  const guest = await call.guest()
  // A range of another form is ignored (RFC 9110, 14.2).
  const asked = range !== null && /^bytes=(?:\d{1,16}-\d{0,16}|-\d{1,16})$/.test(range) ? range : null
  const condition = call.headers['if-range']?.toString()
  // A condition that cannot be one of our etags never matches (RFC 9110, 13.1.5), so the whole file
  // is sent.
  const ifRange = condition === undefined ? null : etagForm.test(condition) ? condition : '""'
  const content = await guest.content.read({ path: call.query.path, range: asked, ifRange }, call.gone)
  const headers: Record<string, string> = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes' }
  for (const [name, value] of Object.entries(content.headers))
    if (value !== undefined && (name !== 'last-modified' || dateForm.test(value))) headers[name] = value
  const length = headers['content-length']
  const bytes = length === undefined ? content.body : exactLength(content.body, Number(length))
  return { status: content.status, bytes, headers }
}
