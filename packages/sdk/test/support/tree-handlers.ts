import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { HoltError, type WatchItem } from '@holt/protocol'
import { infoAt } from './file-handlers.ts'
import { runningOf } from './named-runtime.ts'
import { sampleChange } from './samples.ts'
import type { TestAnswer, TestCall } from './test-service.ts'

/** The routes of trees, over a folder per runtime and this machine's own tar. */
export const treeHandlers = {
  diffFiles: async (call: TestCall) => {
    runningOf(call)
    const { cursor, patch, path } = call.query
    const entry = sampleChange(`${path}/${cursor === undefined ? 'a' : 'b'}`, patch === 'true')
    const isCut = path === '/cut'
    const isFirst = cursor === undefined && !isCut
    const page = { data: isCut ? [] : [entry], next_cursor: isFirst ? 'next' : null, truncated: isFirst || isCut }
    const since = { type: 'template', id: 'tpl', name: 'base-small' }
    const text = patch === 'true' ? `diff --git a${entry.path} b${entry.path}\n` : null
    return { status: 200, json: { since, ...page, patch: text, patch_complete: text === null ? null : !isCut } }
  },
  readArchive: async (call: TestCall) => {
    const place = placeOf(call)
    if ((await infoAt(call, String(call.query.path))).type !== 'directory')
      throw new HoltError('not_a_directory', `${call.query.path} is not a directory`)
    const flags = call.query.format === 'tar.gz' ? ['-z'] : []
    const bytes = call.service.archive ?? (await tar(['--format=posix', ...flags, '-C', place, '-c', '-f', '-', '.']))
    call.response.writeHead(200, { 'content-type': 'application/x-tar' })
    call.response.end(bytes)
    return undefined
  },
  writeArchive: async (call: TestCall) => {
    const query = call.query as { path: string; overwrite: string; merge: string }
    const place = placeOf(call)
    const existed = await lstat(place).catch(() => null)
    if (existed !== null && query.overwrite === 'false' && query.merge === 'false')
      throw new HoltError('already_exists', `${query.path} exists`)
    const staging = `${place}.staging`
    await mkdir(staging, { recursive: true })
    const flags = call.bytes[0] === 0x1f ? ['-z'] : []
    try {
      await tar([...flags, '-x', '-p', '-f', '-', '-C', staging], call.bytes)
    } catch {
      await rm(staging, { recursive: true })
      throw new HoltError('invalid_archive', 'tar cannot read it')
    }
    if (query.merge === 'true' && existed !== null) {
      await tar(['-x', '-p', '-f', '-', '-C', place], call.bytes)
      await rm(staging, { recursive: true })
    } else {
      await rm(place, { recursive: true, force: true })
      await mkdir(dirname(place), { recursive: true })
      await rename(staging, place)
    }
    const entry = await infoAt(call, query.path)
    const json = { success: true, path: query.path, entry, files: 0, directories: 0, symlinks: 0, size_bytes: 0 }
    return { status: existed === null ? 201 : 200, json }
  },
  watchFiles: async (call: TestCall) => {
    runningOf(call)
    const { response, service } = call
    const cursor = call.query.cursor as number | undefined
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const write = (item: WatchItem) =>
      response.write(`event: ${item.type}\nid: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`)
    let at = cursor ?? service.changes.length
    if (cursor === undefined) write({ type: 'start', cursor: at })
    for (; !response.destroyed; at++) {
      while (service.changes.length <= at && !response.destroyed)
        await Promise.race([once(service.changed, 'changed'), once(response, 'close')])
      if (response.locals !== undefined && response.locals.itemsLeft-- === 0) break
      const item = service.changes[at]
      if (item === undefined) break
      write(item)
      if (item.type === 'end') {
        response.end()
        return undefined
      }
    }
    response.destroy()
    return undefined
  },
} satisfies Record<string, (call: TestCall) => Promise<TestAnswer>>

function placeOf(call: TestCall): string {
  return call.service.place(String(runningOf(call).runtime_id), String(call.query.path))
}

async function tar(args: readonly string[], input?: Buffer): Promise<Buffer> {
  const child = spawn('tar', args, { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [bytes, [code]] = await Promise.all([buffer(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`tar ended with ${code}`)
  return bytes
}
