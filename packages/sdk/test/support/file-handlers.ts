import { chmod, cp, lstat, mkdir, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { type CopyFileInput, type FileInfo, HoltError } from '@holt/protocol'
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
    const range = /^bytes=(\d+)-(\d*)$/.exec(call.request.headers.range ?? '')
    const end = range?.[2] ? Number(range[2]) + 1 : bytes.length
    call.response.writeHead(range === null ? 200 : 206, { 'content-type': 'application/octet-stream' })
    call.response.end(bytes.subarray(Number(range?.[1] ?? 0), end))
    return undefined
  },
  writeFile: async (call: TestCall) => {
    const path = pathOf(call)
    const existed = await lstat(at(call, path)).catch(() => null)
    if (existed !== null && call.request.headers['if-none-match'] === '*')
      throw new HoltError('already_exists', `${path} exists`)
    await mkdir(dirname(at(call, path)), { recursive: true })
    await writeFile(at(call, path), call.bytes)
    const { mode } = call.query
    if (typeof mode === 'string') await chmod(at(call, path), Number.parseInt(mode, 8))
    return { status: existed === null ? 201 : 200, json: await infoAt(call, path) }
  },
  statFile: async (call: TestCall) => ({ status: 200, json: await infoAt(call, pathOf(call)) }),
  listFiles: async (call: TestCall) => {
    const root = at(call, pathOf(call))
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

async function infoAt(call: TestCall, path: string): Promise<FileInfo> {
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
    modified_at: found.mtime.toISOString(),
    symlink_target: type === 'symlink' ? await readlink(place) : null,
  }
}
