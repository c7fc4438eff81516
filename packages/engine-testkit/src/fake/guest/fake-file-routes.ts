import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { withHomes } from './fake-homes.ts'
import { listEntries, listTree } from './fake-listing.ts'
import { type FakeParts, type FakeRoute, json } from './fake-route.ts'
import { archiveTree, extractTree } from './fake-tree-archive.ts'

/** The routes of files and of whole trees. */
const routes: readonly FakeRoute[] = [
  { method: 'GET', pattern: /^\/v1\/files\/stat$/, handle: ({ files }, { query }) => files.stat(query) },
  { method: 'GET', pattern: /^\/v1\/files\/list$/, handle: ({ files }, { query }) => files.list(query) },
  {
    method: 'GET',
    pattern: /^\/v1\/files\/content$/,
    handle: ({ files }, { query, request }) => files.content.read(query, request.headers),
  },
  { method: 'GET', pattern: /^\/v1\/files\/upload$/, handle: ({ files }, { query }) => files.content.upload(query) },
  {
    method: 'DELETE',
    pattern: /^\/v1\/files\/upload$/,
    handle: ({ files }, { query }) => files.content.abortUpload(query),
  },
  {
    method: 'PUT',
    pattern: /^\/v1\/files\/content(?:\/if-match)?$/,
    handle: (parts, { query, body }) => write(parts, query, body),
  },
  {
    method: 'POST',
    pattern: /^\/v1\/files\/(mkdir|remove|move|copy|symlink|chmod|chown|search|replace)$/,
    handle: (parts, { name, body }) => change(parts, name, json(body)),
  },
  {
    method: 'GET',
    pattern: /^\/v1\/files\/archive$/,
    handle: ({ files }, { query }) => archiveTree(files.nodes, query),
  },
  {
    method: 'PUT',
    pattern: /^\/v1\/files\/archive$/,
    handle: ({ files }, { query, body }) => extractTree(files.nodes, query, body),
  },
  { method: 'POST', pattern: /^\/v1\/export$/, handle: ({ trees }, { body }) => trees.exportTree(json(body)) },
  { method: 'POST', pattern: /^\/v1\/listing$/, handle: ({ files }, { body }) => listTree(files.nodes, json(body)) },
  {
    method: 'POST',
    pattern: /^\/v1\/listing\/entries$/,
    handle: ({ files }, { body }) => listEntries(files.nodes, json(body)),
  },
  {
    method: 'PUT',
    pattern: /^\/v1\/listing\/baselines\/(\w+)$/,
    handle: ({ files, baselines }, { name }) => baselines.take(name, files.nodes),
  },
  {
    method: 'GET',
    pattern: /^\/v1\/listing\/baselines\/(\w+)$/,
    handle: ({ baselines }, { name }) => baselines.read(name),
  },
  { method: 'POST', pattern: /^\/v1\/select$/, handle: ({ trees }, { body }) => trees.select(json(body)) },
  { method: 'PUT', pattern: /^\/v1\/apply$/, handle: ({ trees }, { query, body }) => trees.apply(query, body) },
  { method: 'POST', pattern: /^\/v1\/mounts$/, handle: ({ trees }, { body }) => trees.addMounts(json(body)) },
  { method: 'DELETE', pattern: /^\/v1\/mounts$/, handle: ({ trees }) => trees.clearMounts() },
  { method: 'GET', pattern: /^\/v1\/files\/watch$/, handle: (parts, { query }) => watch(parts, query) },
]

/** The same routes, which accept paths of accounts. */
export const fileRoutes: readonly FakeRoute[] = routes.map(withHomes)

function write({ files, changes }: FakeParts, query: URLSearchParams, body: Buffer): FakeAnswer {
  const answer = files.content.write(query, body)
  if (answer.status === 202) return answer // A part; nothing is there yet.
  const type = answer.status === 201 ? 'created' : 'modified'
  changes.add({ type, path: query.get('path') ?? '', directory: false })
  return answer
}

function change({ files, changes }: FakeParts, verb: string, request: Record<string, unknown>): FakeAnswer {
  const answer = files.change(verb, request)
  if (!['mkdir', 'remove', 'move', 'copy'].includes(verb)) return answer
  const { path, source: from, destination } = request as { path: string; source: string; destination: string }
  const directory = (answer.json as { type?: string }).type === 'directory'
  if (verb === 'remove') changes.add({ type: 'removed', path, directory })
  else if (verb === 'move') changes.add({ type: 'moved', path: destination, from, directory })
  else if (verb === 'copy') changes.add({ type: 'created', path: destination, directory })
  else if (answer.status === 201) changes.add({ type: 'created', path, directory })
  return answer
}

function watch({ files, changes }: FakeParts, query: URLSearchParams): FakeAnswer {
  const { type } = files.stat(new URLSearchParams({ path: query.get('path') ?? '' })).json as { type: string }
  if (type !== 'directory') throw new HoltError('not_a_directory', `${query.get('path')} is not a directory`)
  return changes.watch(query)
}
