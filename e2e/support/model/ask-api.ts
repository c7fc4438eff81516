import { FileInfo, pageOf, ReplaceResult } from '@holt/protocol'
import type { Answer } from '../api.ts'
import type { TestRuntime } from '../test-runtime.ts'
import type { Operation } from './operations.ts'

/**
 * The result of an operation of the API: the code of an error, or the facts of a success that the
 * oracle knows.
 */
export type Outcome =
  | { readonly type: 'failure'; readonly code: string }
  | { readonly type: 'success'; readonly answer: unknown }

let uploads = 0

/** Does an operation by the API, in the tree at `top`. */
export async function askApi(runtime: TestRuntime, top: string, operation: Operation): Promise<Outcome> {
  const at = (path: string) => (path === '' ? top : `${top}/${path}`)
  const post = (verb: string, json: object) => runtime.call('POST', `/files/${verb}`, { json })
  const get = (route: string, query: Record<string, string | number>) =>
    runtime.call('GET', `/files/${route}`, { query })
  switch (operation.type) {
    case 'write':
      return outcomeOf(await write(runtime, at(operation.path), operation), ({ status }) => ({
        created: status === 201,
      }))
    case 'mkdir': {
      const { path, parents, mode, user } = operation
      const answer = await post('mkdir', { path: at(path), parents, mode, ...(user === null ? {} : { user }) })
      return outcomeOf(answer, ({ status }) => ({ created: status === 201 }))
    }
    case 'move':
    case 'copy': {
      const { type, source, destination, ...how } = operation
      return outcomeOf(await post(type, { source: at(source), destination: at(destination), ...how }), () => null)
    }
    case 'remove':
      return outcomeOf(await post('remove', { path: at(operation.path), recursive: operation.recursive }), () => null)
    case 'symlink': {
      const { type: _, path, ...how } = operation
      const answer = await post('symlink', { path: at(path), ...how })
      return outcomeOf(answer, ({ status }) => ({ created: status === 201 }))
    }
    case 'chmod':
    case 'chown': {
      const { type, path, ...how } = operation
      const answer = await post(type, { path: at(path), ...how })
      return outcomeOf(answer, ({ text }) => ({ changed: JSON.parse(text).changed }))
    }
    case 'replace': {
      const { path, named, pattern, replacement } = operation
      const where = named ? { paths: [at(path)] } : { path: at(path), hidden: true, respect_gitignore: false }
      const answer = await post('replace', { ...where, pattern, replacement })
      return outcomeOf(answer, ({ text }) => ({ total_count: ReplaceResult.parse(JSON.parse(text)).total_count }))
    }
    case 'list': {
      const answer = await get('list', { path: at(operation.path), depth: operation.depth, limit: 10_000 })
      return outcomeOf(answer, ({ text }) =>
        pageOf(FileInfo)
          .parse(JSON.parse(text))
          .data.map(({ type, path }) => `${type} ${path.slice(at(operation.path).length + 1)}`),
      )
    }
    case 'stat':
      return outcomeOf(await get('stat', { path: at(operation.path) }), ({ text }) => {
        const { type, mode, uid, gid, symlink_target, size_bytes } = FileInfo.parse(JSON.parse(text))
        return { type, mode, uid, gid, symlink_target, ...(type === 'file' ? { size_bytes } : {}) }
      })
    case 'read':
      return outcomeOf(await get('content', { path: at(operation.path) }), ({ text }) => text)
  }
}

/** One part is a plain write; several are an upload that goes on at an offset. */
async function write(
  runtime: TestRuntime,
  path: string,
  { parts, how }: Extract<Operation, { type: 'write' }>,
): Promise<Answer> {
  const query = {
    path,
    ...(how.mode === null ? {} : { mode: how.mode }),
    ...(how.user === null ? {} : { user: how.user }),
  }
  const headers: Record<string, string> = how.createOnly ? { 'if-none-match': '*' } : {}
  const upload_id = `property-${uploads++}`
  let offset = 0
  for (const part of parts.slice(0, -1)) {
    const answer = await runtime.call('PUT', '/files/content', {
      query: { ...query, upload_id, offset, partial: true },
      headers,
      body: part,
    })
    if (answer.status !== 202) return answer
    offset += part.length
  }
  const last = parts.length > 1 ? { ...query, upload_id, offset } : query
  return runtime.call('PUT', '/files/content', { query: last, headers, body: parts.at(-1) ?? '' })
}

function outcomeOf(answer: Answer, read: (answer: Answer) => unknown): Outcome {
  if (answer.status >= 400) return { type: 'failure', code: JSON.parse(answer.text).error.code }
  return { type: 'success', answer: read(answer) }
}
