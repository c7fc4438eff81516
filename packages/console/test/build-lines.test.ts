import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Holt, readsContext, Template } from '../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { type BuildForm, bodyOf, emptyFields, emptyForm, formOf } from '../src/builds/build-form.ts'
import { buildLines } from '../src/builds/build-lines.ts'

// Each case starts three programs, and the machine may be busy with others.
vi.setConfig({ testTimeout: 60_000 })

const run = promisify(execFile)

const plain: BuildForm = { ...emptyForm, fields: { ...emptyFields, name: 'web', dockerfile: 'FROM scratch\n' } }

const filled: BuildForm = {
  fields: {
    dockerfile: "FROM scratch AS one\nARG A\nCOPY app.py .\nRUN echo 'it''s' \"$A\"\n",
    name: 'web',
    tag: 'v2',
    start_cmd: 'serve \'it\' "$HOME"',
    ready_cmd: 'test -f /ready',
    on_restore: 'true',
    cpu: '1.5',
    memory: '2',
    disk: '8GiB',
    env: 'GREETING=it\'s "here"\nEMPTY=',
    build_args: 'A=1=1\nB=x y',
    target: 'one',
    no_cache: 'yes',
  },
  secrets: [
    { id: 'npm-token', value: 'hunter22' },
    { id: '', value: 'forgotten' },
  ],
  more: { ready_timeout_secs: 50, timeout_secs: 90, user: 'me', workdir: '/srv' },
}

test('the form has every option of a build, empty ones are absent, and a request becomes a form again', () => {
  expect(bodyOf(plain)).toEqual({ name: 'web', dockerfile: 'FROM scratch\n' })
  const body = bodyOf(filled)
  expect(body).toEqual({
    name: 'web',
    tag: 'v2',
    dockerfile: filled.fields.dockerfile,
    start_cmd: 'serve \'it\' "$HOME"',
    ready_cmd: 'test -f /ready',
    on_restore: 'true',
    cpu: 1.5,
    memory: 2,
    disk: '8GiB',
    env: { GREETING: 'it\'s "here"', EMPTY: '' },
    build_args: { A: '1=1', B: 'x y' },
    build_secrets: { 'npm-token': 'hunter22' },
    target: 'one',
    no_cache: true,
    ready_timeout_secs: 50,
    timeout_secs: 90,
    user: 'me',
    workdir: '/srv',
  })
  // The service keeps sizes with their unit, and no values of secrets.
  const { build_secrets: _, ...request } = { ...body, memory: '2048MiB' }
  const again = bodyOf(formOf(request, ['npm-token']))
  expect(again).toEqual({ ...request, build_secrets: { 'npm-token': '' } })
})

/** Returns the body of the build that a service was asked for. */
function builtBy({ calls }: TestService): { readonly context_id?: string } {
  const call = calls.find(({ route }) => route === 'createBuild')
  if (call === undefined) throw new Error('no build was requested')
  return call.body as { readonly context_id?: string }
}

/** Evaluates the lines of Python with the client's own description of a template. */
const pythonProgram = `
import json, os, sys
sys.path.insert(0, sys.argv[1])
from holt._template import description
class Template(description.TemplateDescription):
    def build_and_wait(self):
        body, context = self._request()
        print(json.dumps({"body": body, "context": context is not None}))
lines = [line for line in sys.argv[2].splitlines() if line != "from holt import Template"]
exec("\\n".join(lines))
`

test.each([
  ['a plain build', plain],
  ['a build with every option', filled],
])('every line builds what the form builds: %s', async (_, form) => {
  const service = await startTestService()
  const folder = await mkdtemp(join(tmpdir(), 'holt-lines-'))
  onTestFinished(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  service.script = (build) => build.succeed()
  await symlink(fileURLToPath(new URL('../../cli/bin/holt', import.meta.url)), join(folder, 'holt'))
  await writeFile(join(folder, 'Dockerfile'), form.fields.dockerfile)
  await writeFile(join(folder, 'app.py'), 'print()\n')
  const sendsFiles = readsContext(form.fields.dockerfile)
  const body = bodyOf(form)
  const lines = new Map(buildLines({ body, sendsFiles, url: service.url }).map(({ client, text }) => [client, text]))
  const lineOf = (client: string) => lines.get(client) ?? ''
  for (const text of lines.values()) expect(text).not.toContain('hunter22')
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOLT_URL: service.url,
    HOLT_API_KEY: service.key,
    HOME: folder,
    NPM_TOKEN: 'hunter22',
  }
  const sent = async (act: () => Promise<unknown>) => {
    service.calls.length = 0
    await act()
    const { context_id, ...rest } = builtBy(service)
    expect(context_id !== undefined && service.contexts.has(context_id)).toBe(sendsFiles)
    return rest
  }
  const holt = new Holt({ url: service.url, apiKey: service.key, maxRetries: 0 })
  await holt.builds.create(body)
  const expected = builtBy(service)
  expect(expected).toMatchObject({ name: 'web' })
  const inFolder = { env, cwd: folder }
  expect(await sent(() => run('bash', ['-c', lineOf('holt')], inFolder))).toEqual(expected)
  expect(await sent(() => run('bash', ['-c', lineOf('curl')], inFolder))).toEqual(expected)
  const [typeScript = ''] = lineOf('TypeScript').split('\n').slice(-1)
  const here = typeScript.replace("'./Dockerfile'", JSON.stringify(join(folder, 'Dockerfile')))
  const program = new Function('holt', 'Template', 'process', `return (async () => { ${here} })()`)
  expect(await sent(() => program(holt, Template, { env }))).toEqual(expected)
  const source = fileURLToPath(new URL('../../../python/src', import.meta.url))
  const { stdout } = await run('python3', ['-c', pythonProgram, source, lineOf('Python')], inFolder)
  expect(JSON.parse(stdout)).toEqual({ body, context: sendsFiles })
})
