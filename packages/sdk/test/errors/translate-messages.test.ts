import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCatalogue, openApi } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { errorOfAnswer } from '../../src/errors/errors.ts'
import { translateHint } from '../../src/errors/translate-messages.ts'
import { type ErrorCode, Holt, HoltApiError, HoltError } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

/** Matches routes, methods, headers and media types. */
const speaksHttp =
  /\b(?:GET|POST|PUT|PATCH|DELETE|HEAD) [./]|\/v1\/|Idempotency-Key|Retry-After|Authorization|Bearer|\bheader\b|application\/json|openapi/i

/**
 * The hints in the sources of what answers: literals after `hint`, with expressions in templates
 * left out.
 */
async function hintsInSources(): Promise<readonly string[]> {
  const packages = join(import.meta.dirname, '../../..')
  const found = new Set<string>()
  for await (const name of glob('{protocol,server,engine,engine-host,builder,egress}/src/**/*.ts', { cwd: packages })) {
    const text = await readFile(join(packages, name), 'utf8')
    for (const [, , literal = ''] of text.matchAll(/hint\w*(?::|\s*=)[^'"`;}]*?(['"`])((?:\\.|(?!\1).)*)\1/gi))
      found.add(literal.replace(/\$\{[^}]*\}/g, 'X'))
  }
  return [...found]
}

describe('no hint of the client names HTTP requests', () => {
  test.each(Object.keys(errorCatalogue) as ErrorCode[])('%s', (code) => {
    const { status, hint } = errorCatalogue[code]
    const body = JSON.stringify({ error: { code, message: 'No.', hint, request_id: 'rq1' } })
    for (const error of [new HoltError(code, 'No.'), errorOfAnswer(new Response(body, { status }), body)]) {
      expect(error.hint).not.toMatch(speaksHttp)
      expect(error.hint).toMatch(/\S/)
    }
  })

  test('hints in the OpenAPI document', () => {
    const { components } = openApi('1') as unknown as {
      components: { responses: Record<string, { description: string }> }
    }
    const hints = Object.values(components.responses).map(({ description }) => description)
    expect(hints.length).toBeGreaterThan(50)
    expect(hints.map(translateHint).filter((hint) => speaksHttp.test(hint))).toEqual([])
  })

  test('hints in the sources of the service', async () => {
    const hints = await hintsInSources()
    expect(hints.length).toBeGreaterThan(100)
    expect(hints.filter((hint) => speaksHttp.test(hint)).length).toBeGreaterThan(10)
    expect(hints.map(translateHint).filter((hint) => speaksHttp.test(hint))).toEqual([])
  })
})

test.each([
  ['List the templates: GET /v1/agents/template.', 'List the templates: holt.templates.list().'],
  ['List the builds: GET /v1/agents/template/build.', 'List the builds: holt.builds.list().'],
  [
    'Build it first, or name another template: GET /v1/agents/template lists them.',
    'Build it first, or name another template: holt.templates.list() lists them.',
  ],
  [
    'Resume the runtime: POST .../resume. With auto_resume, any request resumes it.',
    'Resume the runtime: runtime.resume(). With auto_resume, any request resumes it.',
  ],
  ['Send a valid key as Authorization: Bearer KEY.', 'Pass apiKey, or set HOLT_API_KEY, to a key of that service.'],
  [
    'Read the command by its id: GET .../commands/{command_id}.',
    'Read the command by its id: runtime.commands.get(commandId).',
  ],
  [
    'Delete them with a key of the project first: POST /v1/agents/key with the project team and the scope admin makes one.',
    "Delete them with a key of the project first: holt.keys.create({ name, project: 'team', scopes: ['admin'] }) makes one.",
  ],
  ['Send it again under another Idempotency-Key.', 'Send it again under another idempotencyKey.'],
])('%s', (theirs, ours) => {
  expect(translateHint(theirs)).toBe(ours)
})

describe('a message names wrong options with their values', () => {
  /** Returns the message for wrong fields of a request. */
  function messageOf(issues: Readonly<Record<string, string>>, sent: Parameters<typeof errorOfAnswer>[2]): string {
    const found = Object.entries(issues).map(([pointer, message]) => ({ pointer, message }))
    const message = `The request is not valid: ${found.map((one) => `${one.pointer || 'the body'} ${one.message}`).join('; ')}.`
    const text = JSON.stringify({ error: { code: 'invalid_request', message, details: { issues: found } } })
    const error = errorOfAnswer(new Response(null, { status: 400 }), text, sent)
    expect(error).toMatchObject({ wireMessage: message, details: { issues: found } })
    return error.message.replace('The request is not valid: ', '')
  }

  test.each<[string, Parameters<typeof messageOf>[0], Parameters<typeof messageOf>[1], string]>([
    [
      'a field of the query',
      { '/query/path': 'must be absolute' },
      { query: { path: 'x.txt' } },
      "path must be absolute, got 'x.txt'.",
    ],
    [
      'a part of the address',
      { '/path/runtime_id': 'is no id' },
      { params: { runtime_id: '?' } },
      "runtime_id is no id, got '?'.",
    ],
    ['a field of the body', { '/cpu': 'is too much' }, { json: { cpu: 99 } }, 'cpu is too much, got 99.'],
    [
      'a field deep in the body',
      { '/network_policy/allow/0/host': 'is no name', '/metadata/a~1b': 'is too long' },
      { json: { network_policy: { allow: [{ host: '-' }] }, metadata: { 'a/b': 'c'.repeat(100) } } },
      `network_policy.allow[0].host is no name, got '-'; metadata.a/b is too long, got '${'c'.repeat(80)}…'.`,
    ],
    [
      'a value that is not sent, or no text',
      { '/name': 'is required', '/argv': 'is empty' },
      { json: { argv: [] } },
      'name is required; argv is empty.',
    ],
    [
      'a value that the message has',
      { '/template': 'no template is named web' },
      { json: { template: 'web' } },
      'template no template is named web.',
    ],
    [
      'a text like a field',
      { '/apples': 'is not a known field' },
      { json: { apples: 1 } },
      'apples is not a known field.',
    ],
    ['the body as a whole', { '': 'must be an object' }, { json: 'x' }, "the request must be an object, got 'x'."],
    [
      'text with a dollar',
      { '/query/path': 'must be absolute' },
      { query: { path: '$&$1' } },
      "path must be absolute, got '$&$1'.",
    ],
  ])('%s', (_, issues, sent, message) => {
    expect(messageOf(issues, sent)).toBe(message)
  })

  test.each(['/value', '/build_secrets/npm', '/registry_auth/password', '/env/TOKEN', '/data', '/secret'])(
    'the value of %s is confidential',
    (pointer) => {
      const last = pointer.split('/').at(-1) ?? ''
      const value = 'hunter2'
      const json = {
        value,
        data: value,
        secret: value,
        [pointer.split('/')[1] ?? '']: pointer.split('/').length > 2 ? { [last]: value } : value,
      }
      expect(messageOf({ [pointer]: 'is too short' }, { json })).not.toContain('hunter2')
    },
  )
})

describe('over a connection', () => {
  let service: TestService
  beforeEach(async () => {
    service = await startTestService()
  })
  afterEach(() => service.close())

  test('a relative path is named with the error', async () => {
    const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
    const failure = runtime.files.write('x.txt', 'a')
    await expect(failure).rejects.toBeInstanceOf(HoltApiError)
    await expect(failure).rejects.toMatchObject({
      message: expect.stringMatching(/path must be absolute.*got 'x\.txt'/),
    })
  })
})
