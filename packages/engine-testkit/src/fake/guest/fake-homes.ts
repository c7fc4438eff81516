import { posix } from 'node:path'
import type { StartProcess } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeNodes } from './fake-nodes.ts'
import type { FakeRoute } from './fake-route.ts'

/** The homes while there is no /etc/passwd. */
const homes: Readonly<Record<string, string>> = { root: '/root', user: '/home/user' }

/** Returns the absolute path that a path has for an account. */
function pathOf(nodes: FakeNodes, path: string, account: string): string {
  const passwd = nodes.get('/etc/passwd')
  const lines = passwd?.type === 'file' ? passwd.data.toString().split('\n') : null
  const entry = lines?.map((line) => line.split(':')).find(([name]) => name === account)
  const home = lines === null ? homes[account] : entry?.[5]
  if (home === undefined)
    throw new HoltError('invalid_request', `there is no account ${account}`, { details: { reason: 'no_such_account' } })
  const full = path.startsWith('/') ? path : `${home}/${path.replace(/^~(?=\/|$)/, '')}`
  const clean = posix.normalize(full)
  return clean.length > 1 ? clean.replace(/\/$/, '') : clean
}

/** Returns the request of a process with an absolute directory, if it has one of an account. */
export function atHome(nodes: FakeNodes, request: StartProcess): StartProcess {
  if (request.home_of === undefined) return request
  const cwd = pathOf(nodes, request.cwd ?? '', request.home_of)
  if (nodes.get(cwd)?.type !== 'directory' && cwd !== pathOf(nodes, '', request.home_of))
    throw new HoltError('invalid_request', `cwd ${cwd}: not a directory`, {
      details: { reason: 'no_such_directory', path: cwd },
    })
  return { ...request, cwd }
}

/** The names of paths in requests. */
const pathFields = ['path', 'source', 'destination'] as const

/** Returns a route that takes paths of an account, and adds the requested facts to its answer. */
export function withHomes(route: FakeRoute): FakeRoute {
  return {
    ...route,
    handle: async (parts, asked) => {
      const isJson = route.method === 'POST' && asked.body.length > 0
      const fields = isJson ? JSON.parse(asked.body.toString()) : Object.fromEntries(asked.query)
      const query = new URLSearchParams(asked.query)
      if (typeof fields.home_of === 'string')
        for (const name of pathFields.filter((field) => typeof fields[field] === 'string')) {
          fields[name] = pathOf(parts.files.nodes, fields[name], fields.home_of)
          if (!isJson) query.set(name, fields[name])
        }
      const body = isJson ? Buffer.from(JSON.stringify(fields)) : asked.body
      try {
        const answer = await route.handle(parts, { ...asked, query, body })
        if (answer.json === undefined || answer.json === null) return answer
        return { ...answer, json: withFacts(parts.files.nodes, answer.json, fields) }
      } catch (error) {
        if (!(error instanceof HoltError) || fields.home_of === undefined) throw error
        const path = fields.path ?? fields.source
        throw new HoltError(error.code, error.message, { details: { ...error.details, path } })
      }
    },
  }
}

function withFacts(nodes: FakeNodes, json: object, asked: { targets?: unknown; attributes?: string }): object {
  if ('entries' in json && Array.isArray(json.entries))
    return { ...json, entries: json.entries.map((entry) => withFacts(nodes, entry, asked)) }
  if (!('path' in json) || typeof json.path !== 'string') return json
  const end = nodes.follow(json.path)
  const node = end === null ? undefined : nodes.get(end)
  const isLink = nodes.get(json.path)?.type === 'symlink'
  const leads = isLink && node !== undefined && asked.targets !== undefined
  const attributes = asked.attributes === undefined ? undefined : node?.attributes
  return {
    ...json,
    ...(leads ? { resolved_target: end, target_type: node.type } : {}),
    ...(attributes === undefined || Object.keys(attributes).length === 0 ? {} : { attributes }),
  }
}
