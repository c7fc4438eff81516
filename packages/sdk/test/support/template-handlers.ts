import { createHash } from 'node:crypto'
import { type CheckDockerfileInput, type CreateBuild, HoltError, makeId, type RouteName } from '@holt/protocol'
import { now, readyTemplate } from './samples.ts'
import { TestBuild } from './test-build.ts'
import type { TestAnswer, TestCall, TestService } from './test-service.ts'

type Row = Record<string, unknown>

/** The template that a text names. */
export function templateOf(service: TestService, text: string): Row {
  const named = (row: Row) => row.template_id === text || row.name === text || `${row.name}:${row.tag}` === text
  const row = [service.template, ...service.templates.values()].find(named)
  if (row === undefined) throw new HoltError('template_not_found', `No template ${text}`)
  return row
}

function buildOf({ service, params }: TestCall): TestBuild {
  const build = service.builds.get(params.build_id ?? '')
  if (build === undefined) throw new HoltError('build_not_found', 'No such build')
  return build
}

function start(
  service: TestService,
  body: Partial<CreateBuild> & { name: string; tag: string },
  old: Row | null,
): TestAnswer {
  const known = old ?? [...service.templates.values()].find(({ name, tag }) => name === body.name && tag === body.tag)
  const templateId = String(known?.template_id ?? makeId('template'))
  const build = new TestBuild(body, templateId)
  build.onReady = () => service.templates.set(templateId, madeTemplate(build, templateId))
  service.builds.set(build.data.build_id, build)
  void service.script(build)
  const { build_id, template_id, name, tag, status } = build.data
  return { status: 202, json: { build_id, template_id, name, tag, status } }
}

function madeTemplate({ body, data }: TestBuild, templateId: string): Row {
  const { name, tag, start_cmd = null, ready_cmd = null, on_restore = null } = body
  const made = { template_id: templateId, name, tag, start_cmd, ready_cmd, on_restore, build_id: data.build_id }
  return {
    ...readyTemplate(),
    ...made,
    kind: 'custom',
    size_bytes: 123_000_000,
    starts: start_cmd === null ? null : 'restored',
  }
}

const refusals: Readonly<Record<string, string>> = {
  VOLUME: 'ignored',
  ONBUILD: 'ignored',
  CMD: 'ignored',
  SECURITY: 'refused',
}

function check({ dockerfile }: CheckDockerfileInput): unknown {
  const lines = dockerfile.split('\n').flatMap((text, index) => {
    const [word = ''] = text.split(' ')
    if (word === '') return []
    const verdict = text.includes('--security') ? 'refused' : (refusals[word] ?? 'supported')
    const why =
      verdict === 'supported'
        ? { reason: null, fix: null }
        : { reason: `${word} has no meaning here`, fix: 'Leave it out.' }
    return [{ line: index + 1, end_line: index + 1, instruction: word, text, verdict, ...why }]
  })
  const images = lines.filter(({ instruction }) => instruction === 'FROM').map(({ text }) => text.slice(5))
  return { ok: lines.every(({ verdict }) => verdict !== 'refused'), lines, warnings: [], images, templates: [] }
}

async function streamLog(call: TestCall): Promise<undefined> {
  const { response, query } = call
  const build = buildOf(call)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  const follow = ['true', '1'].includes(String(query.follow))
  for (let at = Number(query.cursor ?? 0); ; at++) {
    if (follow) while (!build.ended && build.items.length <= at) await build.more(build.items.length)
    if (response.locals !== undefined && response.locals.itemsLeft-- === 0) {
      response.destroy()
      return
    }
    const item = build.items[at]
    if (item === undefined) break
    response.write(`data: ${JSON.stringify(item)}\n\n`)
  }
  response.end()
}

const page = (rows: readonly unknown[]) => ({ status: 200, json: { data: rows, next_cursor: null } })
const having = (query: Readonly<Row>, names: readonly string[]) => (row: Row) =>
  names.every((name) => query[name] === undefined || query[name] === row[name])

/** Templates and their builds. */
export const templateHandlers = {
  listTemplates: ({ service, query }) => {
    const all = [...service.templates.values(), service.template]
    return page(all.filter(having(query, ['name', 'kind', 'state'])))
  },
  getTemplate: ({ service, params }) => ({ status: 200, json: templateOf(service, params.template_id ?? '') }),
  deleteTemplate: ({ service, params }) => {
    const { template_id, kind } = templateOf(service, params.template_id ?? '')
    if (kind === 'system') throw new HoltError('conflict', 'System templates stay.')
    service.templates.delete(String(template_id))
    return { status: 204 }
  },
  createBuild: ({ service, body }) => start(service, body as CreateBuild, null),
  pullTemplate: ({ service, params }) => {
    const row = templateOf(service, params.template_id ?? '')
    if (row.kind !== 'agent') throw new HoltError('unsupported_setting', 'Only agent templates are pulled.')
    return start(service, { name: String(row.name), tag: String(row.tag) }, row)
  },
  listBuilds: ({ service, query }) =>
    page(
      [...service.builds.values()]
        .map(({ data }): Row => data)
        .reverse()
        .filter(having(query, ['name', 'template_id'])),
    ),
  getBuild: (call) => ({ status: 200, json: buildOf(call).data }),
  getBuildRequest: (call) => {
    const { build_secrets = {}, registry_auth, ...request } = buildOf(call).body
    const more = { build_secrets: Object.keys(build_secrets), registry_user: registry_auth?.username ?? null }
    return { status: 200, json: { request, ...more } }
  },
  cancelBuild: (call) => {
    const build = buildOf(call)
    if (!build.ended) build.status('cancelled')
    return { status: 200, json: build.data }
  },
  readBuildLogs: streamLog,
  checkDockerfile: ({ body }) => ({ status: 200, json: check(body as CheckDockerfileInput) }),
  uploadContext: ({ service, bytes }) => {
    const context_id = makeId('context')
    service.contexts.set(context_id, bytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return { status: 201, json: { context_id, sha256, size_bytes: bytes.length, entries: 1, expires_at: now() } }
  },
} as const satisfies Partial<Record<RouteName, (call: TestCall) => TestAnswer | Promise<TestAnswer>>>
