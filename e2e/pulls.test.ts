import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Build, type CreateBuildInput, Template } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from '../packages/builder/test/support/machine.ts'
import { tarOf, writeLayout } from '../packages/builder/test/support/oci-image.ts'
import { type Registry, reader, startRegistry } from '../packages/builder/test/support/registry.ts'
import { call, success } from './support/api.ts'
import { build, built, messagesOf, templatesPath } from './support/test-build.ts'

const unique = Date.now().toString(36)
/** Builds boot runtimes and take checkpoints, on a machine that may be busy. */
const slow = 300_000

describe('an image of a registry', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-e2e-pulls-'))
  const names: string[] = []
  let registry: Registry
  let image: string

  /** Puts an image with one file into the registry. */
  async function publish(name: string, options: Parameters<typeof writeLayout>[2] = {}): Promise<string> {
    const layout = join(dir, name)
    const tar = await tarOf(join(dir, `${name}-tree`), 'mkdir srv; echo from the registry >srv/file')
    await writeLayout(layout, [{ tar, compression: 'gzip' }], options)
    const reference = `${registry.address}/team/${name}:1`
    const who = `${reader.username}:${reader.password}`
    const flags = ['--quiet', '--dest-tls-verify=false', '--dest-creds', who]
    run(['skopeo', '--insecure-policy', 'copy', ...flags, `oci:${layout}`, `docker://${reference}`])
    return reference
  }

  const named = (name: string, body: Omit<CreateBuildInput, 'name'>): CreateBuildInput => {
    names.push(`${name}-${unique}`)
    return { name: `${name}-${unique}`, ...body }
  }

  beforeAll(async () => {
    registry = await startRegistry(undefined, { asks: true })
    const config = { Env: ['GREETING=hello', 'PATH=/opt'], WorkingDir: '/srv', ExposedPorts: { '80/tcp': {} } }
    image = await publish('app', { config })
  }, slow)
  afterAll(async () => {
    for (const name of names) await call('DELETE', `${templatesPath}/${name}`)
    await registry[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true })
  }, slow)

  it(
    'becomes a template with its settings, and its log shows the progress',
    async () => {
      const ready = await built(named('pulled', { from_image: image, registry_auth: reader }))
      const template = success(await call('GET', `${templatesPath}/pulled-${unique}`), 200, Template)
      expect(template).toMatchObject({ env: { GREETING: 'hello' }, workdir: '/srv', ports: ['80/tcp'] })
      expect(template.source).toMatch(new RegExp(`^${image.replace(/:1$/, '')}@sha256:[0-9a-f]{64}$`))
      const log = await messagesOf(ready.build_id)
      expect(log.some((line) => /^pulled 1 of 1 layers/.test(line))).toBe(true)
      expect(log.join('\n')).not.toContain(reader.password)
    },
    slow,
  )

  it(
    'gives files to COPY --from, and is not pulled again',
    async () => {
      const auth = { ...reader, registry: registry.address }
      const dockerfile = `FROM holt/base-small\nCOPY --from=${image} /srv/file /srv/\nRUN grep registry /srv/file`
      const ready = await built(named('copied', { dockerfile, registry_auth: auth }))
      const log = (await messagesOf(ready.build_id)).join('\n')
      expect(log).toContain('from the registry')
      expect(log).not.toContain('pulled 0 of')
    },
    slow,
  )

  it(
    'that cannot be pulled fails with the next step',
    async () => {
      const foreign = await publish('foreign', { architecture: 's390x' })
      const inside = image.replace('127.0.0.1', '127.0.0.1.nip.example.com')
      const bodies: Record<string, Omit<CreateBuildInput, 'name'>> = {
        none: { from_image: image.replace(':1', ':2').replace('app', 'none'), registry_auth: reader },
        'no-one': { from_image: image },
        foreign: { from_image: foreign, registry_auth: reader },
        'metadata-address': { from_image: '169.254.169.254/latest:1' },
        'no-name': { from_image: inside },
      }
      const reasons: Record<string, Build['reason']> = {}
      for (const [name, body] of Object.entries(bodies)) reasons[name] = (await build(named(name, body))).reason
      expect(reasons).toMatchObject({
        none: { code: 'image_not_found' },
        'no-one': { code: 'image_pull_failed', hint: expect.stringContaining('registry_auth') },
        foreign: { code: 'image_unsupported', message: expect.stringContaining('s390x') },
        'metadata-address': { code: 'image_pull_failed', message: expect.stringContaining('not public') },
        'no-name': { code: 'image_pull_failed' },
      })
    },
    slow,
  )
})
