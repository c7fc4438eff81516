import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import { packEntries, unpackEntries } from './fake-archive.ts'
import { type FakeNodes, isBelow, relative } from './fake-nodes.ts'

/** Returns the tree below a directory as tar. */
export function archiveTree(nodes: FakeNodes, query: URLSearchParams): FakeAnswer {
  const path = query.get('path') ?? ''
  nodes.findDirectory(path)
  const entries = [...nodes]
    .filter(([other]) => isBelow(path, other))
    .map(([other, node]) => ({
      name: relative(path, other),
      mode: node.mode,
      data: node.type === 'file' ? node.data : null,
    }))
  const tar = packEntries([{ name: '.', mode: '0755', data: null }, ...entries])
  const isZipped = query.get('format') === 'tar.gz'
  return { stream: Readable.from([isZipped ? gzipSync(tar) : tar]) }
}

/** Makes a tree from tar. */
export function extractTree(nodes: FakeNodes, query: URLSearchParams, body: Buffer): FakeAnswer {
  const path = query.get('path') ?? ''
  const exists = nodes.has(path)
  if (exists && query.get('overwrite') !== '1' && query.get('merge') !== '1')
    throw new HoltError('already_exists', `${path} exists`)
  const entries = unpackEntries(body[0] === 0x1f ? gunzipSync(body) : body).filter(({ name }) => name !== '')
  if (entries.length > Number(query.get('max_entries')))
    throw new HoltError('too_large', 'the archive has more than max_entries')
  if (query.get('overwrite') === '1') nodes.clearBelow(path)
  nodes.makeParents(`${path}/x`)
  for (const { name, mode, data } of entries) {
    const place = `${path === '/' ? '' : path}/${name}`
    nodes.makeParents(place)
    nodes.set(place, data === null ? { type: 'directory', mode } : { type: 'file', mode, data })
  }
  const files = entries.filter(({ data }) => data !== null)
  return {
    status: exists ? 200 : 201,
    json: {
      entry: nodes.facts(path),
      files: files.length,
      directories: entries.length - files.length,
      symlinks: 0,
      size_bytes: files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0),
    },
  }
}
