import { type ErrorCode, type ErrorDetails, errorCatalogue } from '@holt/protocol'
import { HoltApiError, HoltConnectionError, HoltError } from '@holt/sdk'
import type { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { translateHint } from '../../src/errors/hint-of.ts'
import { reportError } from '../../src/errors/report-error.ts'
import { buildWholeProgram } from '../../src/whole-program.ts'

beforeEach(() => {
  vi.stubEnv('NO_COLOR', '1')
  for (const name of ['HOLT_URL', 'HOLT_API_KEY']) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** Returns the text that a person reads for an error. */
function told(error: unknown, command?: Command): string {
  let text = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  reportError(error, command)
  return text
}

/** An error as the service answers it. */
function answered(code: ErrorCode, message: string, more: { hint?: string; details?: ErrorDetails } = {}) {
  const { status: httpStatus, hint } = errorCatalogue[code]
  return new HoltApiError({
    code,
    wireCode: code,
    message,
    httpStatus,
    requestId: null,
    retryAfterSecs: null,
    hint,
    ...more,
  })
}

/** Returns the service's answer to wrong fields of a request. */
function wrong(issues: Readonly<Record<string, string>>, hint?: string) {
  const named = Object.entries(issues).map(([pointer, message]) => `${pointer} ${message}`)
  const details = { issues: Object.entries(issues).map(([pointer, message]) => ({ pointer, message })) }
  const more = hint === undefined ? { details } : { details, hint }
  return answered('invalid_request', `The request is not valid: ${named.join('; ')}.`, more)
}

const program = await buildWholeProgram()

/** A verb by its words. */
function verb(...words: string[]): Command {
  return words.reduce<Command>(
    (command, word) => command.commands.find((one) => one.name() === word) ?? command,
    program,
  )
}

describe('a wrong field is reported once, as its option or argument', () => {
  test.each([
    [['create'], '/name', '--name'],
    [['create'], '/cpu', '--cpu'],
    [['create'], '/timeout_secs', '--timeout'],
    [['create'], '/auto_resume', '--no-auto-resume'],
    [['create'], '/metadata/a~1b', '--metadata a/b'],
    [['create'], '/network_policy/allow/0/host', '--allow host'],
    [['create'], '/network_policy', '--network'],
    [['key', 'create'], '/name', 'name'],
    [['key', 'create'], '/expires_at', '--expires'],
    [['key', 'rotate'], '/path/key_id', 'key'],
    [['webhook', 'create'], '/url', 'url'],
    [['webhook', 'create'], '/types/0', '--type'],
    [['webhook', 'set'], '/url', '--url'],
    [['project', 'set'], '/quotas/runtimes', '--quota runtimes'],
    [['audit'], '/query/since', '--since'],
    [['ls'], '/apples', '/apples'],
  ])('%j %s is %s', (words, pointer, name) => {
    expect(told(wrong({ [pointer]: 'is not right' }), verb(...words))).toBe(`error: ${name}: is not right\n`)
  })

  test('also for an unknown verb', () => {
    expect(told(wrong({ '/cpu': 'is too much' }))).toBe('error: --cpu: is too much\n')
  })

  test('each of several', () => {
    expect(told(wrong({ '/name': 'is not right', '/cpu': 'is too much' }), verb('create'))).toBe(
      'error: The request is not valid:\n  --name: is not right\n  --cpu: is too much\n',
    )
  })

  test('with the hint if that adds something', () => {
    expect(told(wrong({ '/url': 'is no https address' }, 'Use an https address.'), verb('webhook', 'create'))).toBe(
      'error: url: is no https address\nhint: Use an https address.\n',
    )
  })

  test('beside another message', () => {
    const details = { issues: [{ pointer: '/cpu', message: 'is too much' }] }
    expect(told(answered('unsupported_setting', 'A snapshot has its own.', { details }))).toContain(
      'error: A snapshot has its own.\n  --cpu: is too much\nhint: ',
    )
  })
})

describe('a hint is a command to type', () => {
  test.each<[ErrorCode, string]>([
    ['project_not_found', 'List the projects: holt project ls'],
    ['key_not_found', 'List the keys: holt key ls'],
    ['already_exists', 'Replace it with --overwrite, or choose another destination.'],
    ['disk_too_small', 'Request a larger disk: --disk'],
  ])('%s: %s', (code, hint) => {
    expect(told(answered(code, 'No.'))).toBe(`error: No.\nhint: ${hint}\n`)
    expect(told(new HoltError(code, 'No.'))).toBe(`error: No.\nhint: ${hint}\n`)
  })

  test.each([
    [
      'Build it first, or name another template: GET /v1/agents/template lists them.',
      'Build it first, or name another template: holt template ls',
    ],
    ['GET /v1/agents/snapshot?kind=filesystem lists filesystem snapshots.', 'List the snapshots: holt snapshot ls'],
    ['Build it with POST /v1/agents/template/build.', 'Build it: holt template build'],
    ['Try again when GET /v1/agents/template says ready.', 'Try again when holt template ls says ready.'],
    ['First set the state of the webhook to active.', 'Enable the webhook first: holt webhook set WEBHOOK --enable'],
    ['Read the command by its id: GET .../commands/{command_id}.', 'Show its result: holt ps RUNTIME'],
    [
      'Use another project that can be renamed or deleted: POST /v1/agents/project makes one.',
      'Use another project that can be renamed or deleted: holt project create NAME',
    ],
    [
      'Delete them with a key of the project first: POST /v1/agents/key with the project team and the scope admin makes one.',
      'Delete them with a key of the project first: holt key create NAME --project team --scope admin',
    ],
  ])('%s', (theirs, ours) => {
    expect(translateHint(theirs)).toBe(ours)
  })

  test('with the named values', () => {
    const hint = 'First give these runtimes another policy, or delete them: details.runtime_ids.'
    expect(told(answered('in_use', 'Runtimes have it.', { hint, details: { runtime_ids: ['rt1', 'rt2'] } }))).toContain(
      'hint: First give these runtimes another policy, or delete them: rt1, rt2.\n',
    )
  })

  test('and the hint of this error if it adds to that of its code', () => {
    expect(
      told(answered('quota_exceeded', 'No.', { hint: 'Wait until some builds have ended, or cancel some.' })),
    ).toContain('hint: Wait until some builds have ended, or cancel some.\n')
    expect(told(answered('runtime_terminated', 'No.', { hint: 'Send it again with details.x.' }))).toContain(
      'hint: Create a new runtime: holt create\n',
    )
  })
})

describe('if the state directory has no credentials', () => {
  const hint =
    "hint: /nosuch has no credentials of a service. Set HOLT_STATE_DIR to the service's state directory, or start a service there: holt up\n"
  const refused = new HoltConnectionError('refused', 'Holt cannot be reached')
  beforeEach(() => vi.stubEnv('HOLT_STATE_DIR', '/nosuch'))

  test('an unreachable service may be another one', () => {
    expect(told(refused)).toContain(hint)
  })

  test('so may a service that refuses the key', () => {
    expect(told(answered('unauthenticated', 'The request has no API key.'))).toContain(hint)
  })

  test('unless the address was given', () => {
    vi.stubEnv('HOLT_URL', 'http://127.0.0.1:2')
    expect(told(refused)).toContain('hint: Start the service: holt up\n')
  })

  test('and a given key is wrong', () => {
    vi.stubEnv('HOLT_API_KEY', 'holt_x')
    expect(told(answered('unauthenticated', 'The API key is not known here.'))).toContain('hint: Set HOLT_API_KEY')
  })
})
