import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCatalogue } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { localError } from '../../src/errors/local-error.ts'
import * as everything from '../../src/index.ts'
import { type Fork, fileSource, Holt, HoltError, type HoltOptions, type Runtime, Template } from '../../src/index.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
let holt: Holt
let runtime: Runtime
let here: string
beforeEach(async () => {
  service = await startTestService()
  holt = client()
  runtime = await holt.runtimes.create()
  here = await mkdtemp(join(tmpdir(), 'holt-errors-'))
})
afterEach(async () => {
  await service.close()
  await rm(here, { recursive: true, force: true })
})

/** A client that gives up soon. */
function client(options: HoltOptions = {}): Holt {
  return new Holt({ url: service.url, apiKey: service.key, maxRetries: 0, resumeTimeoutSecs: 0.05, ...options })
}

/** Does work, and answers what it throws. */
async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  return undefined
}

/** A server that begins an answer and cuts the connection. */
async function serveBrokenAnswers(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{', () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

describe('everything that the client throws is a HoltError with a code and a hint', () => {
  test.each<[string, code: string, () => unknown]>([
    ['a refusal of the service', 'runtime_not_found', () => holt.runtimes.get('rtnone')],
    ['an invalid address', 'invalid_request', () => new Holt({ url: 'nowhere' })],
    ['a name with two tags', 'invalid_request', () => Template('a:b:c')],
    ['a template that begins with nothing', 'invalid_request', () => Template('web').build({ holt })],
    ['a path that leads out of a port', 'invalid_request', () => runtime.ports.url(80, '/../..')],
    ['an invalid digest', 'invalid_request', () => runtime.files.write('/a', 'x', { sha256: 'x' })],
    ['a remote path that is relative', 'invalid_path', () => runtime.files.upload(here, 'x')],
    ['a directory to upload that is not there', 'path_not_found', () => runtime.files.upload(join(here, 'no'), '/x')],
    ['a directory to upload that is a file', 'not_a_directory', async () => runtime.files.upload(await aFile(), '/x')],
    ['a directory to sync that is not there', 'path_not_found', () => runtime.files.sync(join(here, 'no'), '/x')],
    ['a context that is not there', 'path_not_found', () => holt.builds.uploadContext(join(here, 'no'))],
    [
      'a Dockerfile that is not there',
      'path_not_found',
      () => Template('web').fromDockerfile(join(here, 'no')).build({ holt }),
    ],
    ['a Dockerfile that is a directory', 'is_directory', () => Template('web').fromDockerfile(here).build({ holt })],
    ['a file to send that is not there', 'path_not_found', () => fileSource(join(here, 'no'))],
    ['a file to send that is a directory', 'not_a_file', () => fileSource(here)],
    [
      'a file that is gone when it is sent',
      'path_not_found',
      async () => {
        const source = await fileSource(await aFile())
        await rm(join(here, 'file'))
        await runtime.files.write('/a', source)
      },
    ],
    [
      'a download to below a file',
      'not_a_directory',
      async () => {
        await runtime.files.makeDirectory('/tree')
        await runtime.files.download('/tree', join(await aFile(), 'x'))
      },
    ],
    [
      'a terminal without a WebSocket',
      'not_supported_here',
      async () => {
        const command = await runtime.commands.start('cat', { stdin: true })
        const own = globalThis.WebSocket
        Reflect.deleteProperty(globalThis, 'WebSocket')
        try {
          await command.attach()
        } finally {
          globalThis.WebSocket = own
        }
      },
    ],
    [
      'a build that fails',
      'build_failed',
      () => {
        service.script = (build) => build.fail('step_failed', 'RUN x exited with 127.', { step: 1 })
        return Template('web').fromImage('python:3.12-slim').buildAndWait({ holt })
      },
    ],
    [
      'a wait for a build that is too long',
      'timeout',
      () => {
        service.script = () => undefined
        return Template('web').fromImage('python:3.12-slim').buildAndWait({ holt, timeoutSecs: 0.05 })
      },
    ],
    [
      'an answer that does not come',
      'connection_timeout',
      () => {
        service.faults.push({ route: 'getRuntime', type: 'hang' })
        return client({ timeoutSecs: 0.05 }).runtimes.get(runtime.runtime_id)
      },
    ],
    [
      'an answer that is lost',
      'connection_lost',
      () => {
        service.faults.push({ route: 'getRuntime', type: 'lose' })
        return holt.runtimes.get(runtime.runtime_id)
      },
    ],
    [
      'children that cannot be deleted',
      'internal',
      async () => {
        const fork: Fork = await runtime.fork({ count: 2 })
        for (let at = 0; at < 2; at += 1)
          service.faults.push({ route: 'deleteRuntime', type: 'refuse', code: 'internal' })
        await fork[Symbol.asyncDispose]()
      },
    ],
  ])('%s: %s', async (_, code, work) => {
    const error = await thrownBy(work)
    expect(error).toBeInstanceOf(HoltError)
    expect(error).toMatchObject({ code, hint: expect.stringMatching(/\S.*\.$/), message: expect.stringMatching(/\S/) })
  })

  test.each<[string, (gone: Holt, at: Runtime) => unknown]>([
    ['a call', (gone) => gone.runtimes.list().all()],
    [
      'a stream of events',
      async (gone) => {
        for await (const _ of gone.events.follow({ cursor: 0 }));
      },
    ],
    ['a file', (_, at) => at.files.read('/a')],
    ['a file to write', (_, at) => at.files.write('/a', new Uint8Array(9 * 2 ** 20))],
    ['an archive', (_, at) => at.files.archive('/')],
    ['a command', (_, at) => at.commands.run('true')],
    ['a streamed command', (_, at) => at.commands.run('true', { onStdout: () => undefined })],
    ['a request to a port', (_, at) => at.ports.fetch(80, '/')],
    ['a raw connection to a port', (_, at) => at.ports.connect(80)],
  ])('a service that is down: %s', async (_, work) => {
    await service.close()
    const error = await thrownBy(() => work(holt, runtime))
    expect(error).toBeInstanceOf(HoltError)
    expect(error).toMatchObject({ code: 'connection_refused', hint: expect.stringContaining('holt up') })
  })

  test.each<[string, (at: Runtime) => unknown]>([
    ['a file', (at) => at.files.read('/a')],
    ['an archive', async (at) => new Response(await at.files.archive('/')).bytes()],
    ['a tree', (at) => at.files.download('/tree', join(here, 'tree'))],
    [
      'a search',
      async (at) => {
        for await (const _ of at.files.searchStream('/'));
      },
    ],
    ['a call', (at) => at.files.stat('/a')],
  ])('a connection that breaks in an answer: %s', async (_, work) => {
    const broken = await serveBrokenAnswers()
    try {
      let url = service.url
      const sent: typeof fetch = (input, init) => fetch(String(input).replace(service.url, url), init)
      const at = await client({ fetch: sent }).runtimes.get(runtime.runtime_id)
      url = broken.url
      const error = await thrownBy(() => work(at))
      expect(error).toBeInstanceOf(HoltError)
      expect(error).toMatchObject({
        code: expect.stringMatching(/^connection_lost$|^unavailable$/),
        hint: expect.stringMatching(/\S/),
      })
    } finally {
      await broken.close()
    }
  })

  test('an error subclass is one as well', () => {
    const classes = (Object.values(everything) as unknown[]).filter(isErrorClass)
    expect(classes).toHaveLength(5)
    for (const one of classes) expect(one === HoltError || one.prototype instanceof HoltError).toBe(true)
  })

  test('no other class is thrown in the source', async () => {
    const root = join(import.meta.dirname, '../../src')
    const found: string[] = []
    for (const name of await readdir(root, { recursive: true })) {
      if (!name.endsWith('.ts')) continue
      const text = await readFile(join(root, name), 'utf8')
      found.push(...(text.match(/throw new (?!Holt|BuildFailed)\w+\(.*/g) ?? []).map((line) => `${name}: ${line}`))
    }
    // Reading goes on after it, or it becomes a HoltConnectionError.
    expect(found).toEqual(["content/read-content.ts: throw new TypeError('it ended early')"])
  })
})

describe('an error of the caller is thrown unchanged', () => {
  test('the reason of an abort signal', async () => {
    const reason = new Error('enough')
    expect(await thrownBy(() => holt.runtimes.get('x', { signal: AbortSignal.abort(reason) }))).toBe(reason)
  })

  test('an error of a callback', async () => {
    const own = new Error('mine')
    const onStdout = () => {
      throw own
    }
    expect(await thrownBy(() => runtime.commands.run('echo a', { onStdout }))).toBe(own)
  })

  test('an error of a stream of the caller', async () => {
    const own = new Error('mine')
    async function* content(): AsyncGenerator<string, void, undefined> {
      yield 'a'
      throw own
    }
    expect(await thrownBy(() => runtime.files.write('/a', content()))).toBe(own)
  })
})

test('an error of the local system has a code of the catalogue, or local_file_error', () => {
  for (const code of [
    'ENOENT',
    'ENOTDIR',
    'EISDIR',
    'EACCES',
    'EPERM',
    'EROFS',
    'EEXIST',
    'ELOOP',
    'ENOSPC',
    'EDQUOT',
  ]) {
    const cause = Object.assign(new Error(`${code}: no`), { code, syscall: 'open', path: '/a' })
    const error = localError(cause) as HoltError
    expect(error).toMatchObject({ cause, hint: expect.stringMatching(/\.$/), message: expect.stringMatching(/^\/a /) })
    expect(Object.keys(errorCatalogue)).toContain(error.code)
  }
  const cause = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', syscall: 'open' })
  expect(localError(cause)).toMatchObject({ code: 'local_file_error', message: cause.message, cause })
  expect(localError('x')).toBe('x')
})

async function aFile(): Promise<string> {
  const path = join(here, 'file')
  await writeFile(path, 'content')
  return path
}

function isErrorClass(value: unknown): value is { readonly prototype: unknown } {
  return typeof value === 'function' && value.prototype instanceof Error
}
