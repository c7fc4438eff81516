import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Registry, startRegistry } from '../packages/builder/test/support/registry.ts'
import { call } from './support/api.ts'
import { clientEnvironment, e2bClients } from './support/e2b-clients.ts'
import { pushSmallImage } from './support/small-image.ts'
import { templatesPath } from './support/test-build.ts'
import { createRuntime } from './support/test-runtime.ts'

const unique = Date.now().toString(36)
/** Builds boot runtimes and take checkpoints, on a machine that may be busy. */
const slow = 400_000

/** The result of a build as its client tells it. */
interface Built {
  readonly buildId: string | null
  readonly exists: boolean | null
  readonly logs: readonly string[]
  readonly error: string | null
}

type Client = (typeof e2bClients)[number]

describe('a template of the clients of E2B', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-e2e-e2b-'))
  const names: string[] = []
  let registry: Registry
  let image: string

  beforeAll(async () => {
    registry = await startRegistry()
    image = `${registry.address}/team/small:1`
    await pushSmallImage(join(dir, 'image'), [image], { Env: ['PATH=/bin:/opt/bin', 'FROM_IMAGE=yes'] })
    mkdirSync(join(dir, 'app/sub'), { recursive: true })
    writeFileSync(join(dir, 'app/a.txt'), 'one\n')
    writeFileSync(join(dir, 'app/sub/b.py'), 'two\n')
  }, slow)
  afterAll(async () => {
    for (const name of names) await call('DELETE', `${templatesPath}/${name}`)
    await registry?.[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true, force: true })
  }, slow)

  /** Builds a template in a process of its own, which closes its connections. */
  const build = async (client: Client, { kind, tag = '' }: { readonly kind: string; readonly tag?: string }) => {
    const name = `${kind}-${client.language.toLowerCase()}-${unique}${tag}`
    names.push(name)
    const args = [...client.argumentsOf('build-template'), kind, name, image, dir]
    const { stdout } = await promisify(execFile)(client.command, args, { env: clientEnvironment(), timeout: slow })
    return { name, ...(JSON.parse(stdout) as Built) }
  }

  it.each(e2bClients)(
    'builds on an image: files, commands, users, variables ($language)',
    async (client) => {
      const { name, ...built } = await build(client, { kind: 'image', tag: ':v1' })
      expect(built).toMatchObject({ error: null, exists: true, buildId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
      expect(built.logs.length).toBeGreaterThan(3)
      const runtime = await createRuntime({ template: name })
      expect(await runtime.sh('cat /home/user/said')).toBe('hello yes /extra:/bin:/opt/bin user /home/user')
      expect(await runtime.sh('cat /app/a.txt /app/sub/b.py; stat -c "%U %a" /app/a.txt /home/user/py/b.py')).toBe(
        'one\ntwo\nuser 644\nroot 600',
      )
      const { stdout } = await runtime.run('pwd; id -un; stat -c %U /srv/work/mine; cat /home/user/.profile-note')
      expect(stdout).toBe('/srv/work\nuser\nuser\nfrom skel\n')
    },
    slow,
  )

  it.each(e2bClients)(
    'builds on the base template, with a start command that runs in each sandbox ($language)',
    async (client) => {
      const { name, ...built } = await build(client, { kind: 'served' })
      expect(built).toMatchObject({ error: null, exists: true })
      const runtime = await createRuntime({ template: name })
      expect(await runtime.sh('curl -s http://127.0.0.1:8000/index.html')).toBe('served')
    },
    slow,
  )

  it.each(e2bClients)(
    'tells the step that fails ($language)',
    async (client) => {
      expect((await build(client, { kind: 'fails' })).error).toMatch(/failed to run command 'echo no.*exit status 7/s)
    },
    slow,
  )
})
