import { createHash } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import {
  type CopyFileInput,
  type FileInfo,
  HoltError,
  type MakeSymlinkInput,
  type ReplaceInFilesInput,
  type SearchFilesInput,
} from '@holt/protocol'
import { runningOf } from './named-runtime.ts'
import type { TestAnswer, TestCall } from './test-service.ts'

/** The routes of files, over a folder per runtime. */
export const fileHandlers = {
  copyFile: async (call: TestCall) => {
    const { source, destination, recursive = false, overwrite = false } = call.body as CopyFileInput
    const [from, to] = [at(call, source), at(call, destination)]
    if ((await infoAt(call, source)).type === 'directory' && !recursive)
      throw new HoltError('is_directory', `${source} is a directory`)
    await makeRoom(call, destination, overwrite)
    await cp(from, to, { recursive, verbatimSymlinks: true })
    return { status: 200, json: { success: true, source, destination, entry: await infoAt(call, destination) } }
  },
  moveFile: async (call: TestCall) => {
    const { source, destination, overwrite } = call.body as { source: string; destination: string; overwrite: boolean }
    await infoAt(call, source)
    await makeRoom(call, destination, overwrite)
    await rename(at(call, source), at(call, destination))
    return { status: 200, json: { success: true, source, destination, entry: await infoAt(call, destination) } }
  },
  readFile: async (call: TestCall) => {
    const path = pathOf(call)
    if ((await infoAt(call, path)).type === 'directory') throw new HoltError('is_directory', `${path} is a directory`)
    const bytes = await readFile(at(call, path))
    const { range: wanted = '', 'if-range': condition } = call.request.headers
    const etag = etagOf(bytes)
    const range = condition === undefined || condition === etag ? /^bytes=(\d+)-(\d*)$/.exec(wanted) : null
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length
    const part = bytes.subarray(Number(range?.[1] ?? 0), end)
    const headers = { 'content-type': 'application/octet-stream', 'content-length': part.length, etag }
    call.response.writeHead(range === null ? 200 : 206, headers)
    call.response.end(part)
    return undefined
  },
  writeFile: async (call: TestCall) => {
    const path = pathOf(call)
    const existed = await lstat(at(call, path)).catch(() => null)
    if (existed !== null && call.request.headers['if-none-match'] === '*')
      throw new HoltError('already_exists', `${path} exists`)
    const condition = call.request.headers['if-match']
    const found = existed === null ? null : etagOf(await readFile(at(call, path)))
    if (condition !== undefined && (found === null || (condition !== '*' && condition !== found)))
      throw new HoltError('precondition_failed', `${path} has changed`)
    await mkdir(dirname(at(call, path)), { recursive: true })
    const content = partOf(call)
    if (call.query.partial === '1' || call.query.partial === 'true') return { status: 202, json: uploadOf(call) }
    const announced = call.request.headers['repr-digest']
    if (announced !== undefined && announced !== `sha-256=:${createHash('sha256').update(content).digest('base64')}:`)
      throw new HoltError('digest_mismatch', 'other bytes have arrived')
    await writeFile(at(call, path), content)
    completed.add(keyOf(call))
    const { mode } = call.query
    if (typeof mode === 'string') await chmod(at(call, path), Number.parseInt(mode, 8))
    return { status: existed === null ? 201 : 200, json: await infoAt(call, path) }
  },
  getUpload: async (call: TestCall) => ({ status: 200, json: uploadOf(call) }),
  abortUpload: async (call: TestCall) => {
    uploads.delete(keyOf(call))
    return { status: 204 }
  },
  makeSymlink: async (call: TestCall) => {
    const { path, target, overwrite = false } = call.body as MakeSymlinkInput
    await makeRoom(call, path, overwrite)
    await symlink(target, at(call, path))
    return { status: 201, json: await infoAt(call, path) }
  },
  changeMode: async (call: TestCall) => {
    const { path, mode } = call.body as { path: string; mode: string }
    await chmod(at(call, path), Number.parseInt(mode, 8))
    return { status: 200, json: { success: true, path, changed: 1, entry: await infoAt(call, path) } }
  },
  changeOwner: async (call: TestCall) => {
    const { path } = call.body as { path: string }
    return { status: 200, json: { success: true, path, changed: 1, entry: await infoAt(call, path) } }
  },
  searchFiles: async (call: TestCall) => {
    const { path, content } = call.body as SearchFilesInput
    const lines = (await readFile(at(call, path), 'utf8')).split('\n')
    const data = lines.flatMap((text, index) => {
      const column = text.indexOf(content?.pattern ?? '')
      const match = { path, type: 'file', line: index + 1, column: column + 1, length: 1, text, text_truncated: false }
      return column === -1 ? [] : [match]
    })
    const end = { truncated: null, files_searched: 1, files_skipped: 0 }
    if (call.request.headers.accept !== 'text/event-stream') return { status: 200, json: { data, ...end } }
    call.response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, match] of data.entries())
      call.response.write(`data: ${JSON.stringify({ type: 'match', cursor: index + 1, match })}\n\n`)
    call.response.end(`data: ${JSON.stringify({ type: 'end', cursor: data.length, ...end })}\n\n`)
    return undefined
  },
  replaceInFiles: async (call: TestCall) => {
    const { paths = [], pattern, replacement, expected_count, dry_run = false } = call.body as ReplaceInFilesInput
    const texts = await Promise.all(paths.map(async (path) => ({ path, text: await readFile(at(call, path), 'utf8') })))
    const files = texts.map(({ path, text }) => ({ path, count: text.split(pattern).length - 1, error: null }))
    const total = files.reduce((sum, { count }) => sum + count, 0)
    if (expected_count !== undefined && expected_count !== total)
      throw new HoltError('conflict', `the pattern occurs ${total} times`)
    for (const { path, text } of dry_run ? [] : texts)
      await writeFile(
        at(call, path),
        text.replaceAll(pattern, () => replacement),
      )
    return { status: 200, json: { files, total_count: files.reduce((sum, { count }) => sum + count, 0), dry_run } }
  },
  statFile: async (call: TestCall) => ({ status: 200, json: await infoAt(call, pathOf(call)) }),
  listFiles: async (call: TestCall) => {
    const root = at(call, pathOf(call))
    await infoAt(call, pathOf(call))
    const names = await readdir(root, { recursive: Number(call.query.depth) > 1 })
    const entries = await Promise.all(names.sort().map((name) => infoAt(call, join(pathOf(call), name))))
    const start = Number(call.query.cursor ?? 0)
    const end = start + Number(call.query.limit)
    return {
      status: 200,
      json: { data: entries.slice(start, end), next_cursor: end < entries.length ? String(end) : null },
    }
  },
  makeDirectory: async (call: TestCall) => {
    const { path, mode } = call.body as { path: string; mode?: string }
    await mkdir(at(call, path), { recursive: true })
    if (mode !== undefined) await chmod(at(call, path), Number.parseInt(mode, 8))
    return { status: 201, json: await infoAt(call, path) }
  },
  removeFile: async (call: TestCall) => {
    const { path, recursive } = call.body as { path: string; recursive: boolean }
    await infoAt(call, path)
    await rm(at(call, path), { recursive })
    return { status: 200, json: { success: true, path } }
  },
} satisfies Record<string, (call: TestCall) => Promise<TestAnswer>>

const uploads = new Map<string, Buffer>()
const completed = new Set<string>()

function keyOf({ service, params, query }: TestCall): string {
  return `${service.url} ${params.runtime_id} ${query.path} ${query.upload_id}`
}

/** Returns the arrived bytes of a file, with this part. */
function partOf(call: TestCall): Buffer {
  if (call.query.upload_id === undefined) return call.bytes
  const before = uploads.get(keyOf(call)) ?? Buffer.alloc(0)
  const offset = Number(call.query.offset ?? 0)
  if (offset !== 0 && offset !== before.length) throw new HoltError('conflict', `it has ${before.length} bytes`)
  const content = Buffer.concat([before.subarray(0, offset), call.bytes])
  uploads.set(keyOf(call), content)
  return content
}

function uploadOf(call: TestCall) {
  const { path, upload_id } = call.query
  return { upload_id, path, offset_bytes: uploads.get(keyOf(call))?.length ?? 0, completed: completed.has(keyOf(call)) }
}

function etagOf(bytes: Uint8Array): string {
  return `"${createHash('sha256').update(bytes).digest('hex')}"`
}

function pathOf(call: TestCall): string {
  return String(call.query.path)
}

function at(call: TestCall, path: string): string {
  return call.service.place(String(runningOf(call).runtime_id), path)
}

async function makeRoom(call: TestCall, destination: string, overwrite: boolean): Promise<void> {
  const place = at(call, destination)
  const existing = await lstat(place).catch(() => null)
  if (existing !== null && !overwrite) throw new HoltError('already_exists', `${destination} already exists`)
  await rm(place, { recursive: true, force: true })
  await mkdir(dirname(place), { recursive: true })
}

/** Returns the entry at a path of a runtime. */
export async function infoAt(call: TestCall, path: string): Promise<FileInfo> {
  const place = at(call, path)
  const found = await lstat(place).catch(() => null)
  if (found === null) throw new HoltError('path_not_found', `There is no ${path}`)
  const type = found.isFile() ? 'file' : found.isDirectory() ? 'directory' : found.isSymbolicLink() ? 'symlink' : 'fifo'
  return {
    path: `/${relative(at(call, '/'), place)}`,
    name: basename(path),
    type,
    size_bytes: type === 'file' ? found.size : 0,
    mode: `0${(found.mode & 0o777).toString(8).padStart(3, '0')}`,
    permissions: 'rw-r--r--',
    uid: found.uid,
    gid: found.gid,
    user: 'user',
    group: 'user',
    modified_at: new Date(Math.floor(found.mtimeMs)).toISOString(),
    symlink_target: type === 'symlink' ? await readlink(place) : null,
    ...(type === 'file' ? { etag: etagOf(await readFile(place)) } : {}),
  }
}
