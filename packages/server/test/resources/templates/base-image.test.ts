import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { lacks, run } from '../../../../builder/test/support/machine.ts'
import { tarOf, writeLayout } from '../../../../builder/test/support/oci-image.ts'
import { type Registry, startRegistry } from '../../../../builder/test/support/registry.ts'
import { startHoltd } from '../../support/start-holtd.ts'

const missing = lacks('docker-registry', 'buildah', 'skopeo', 'runsc', 'runc', 'go', 'ldd')
const TIMEOUT_MS = 180_000

/** The files of this machine that a shell needs, copied into its directory. */
const shell = `mkdir -p tmp home/app etc; chmod 1777 tmp
  for path in /bin/sh /usr/bin/id /usr/bin/env; do
    cp -L --parents "$path" $(ldd "$path" | grep -o '/[^ ]*') .
  done
  printf 'root:x:0:0::/root:/bin/sh\\napp:x:1234:1234::/home/app:/bin/sh\\n' >etc/passwd
  printf 'root:x:0:\\napp:x:1234:\\n' >etc/group
  chown 1234:1234 home/app`

describe.skipIf(missing !== '')(`base templates from a container image${missing}`, { timeout: TIMEOUT_MS }, () => {
  let dir: string
  let buildah: (...args: string[]) => string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holt-base-image-'))
    const store = ['--root', join(dir, 'store'), '--runroot', join(dir, 'run'), '--storage-driver', 'vfs']
    buildah = (...args) =>
      run(['buildah', ...store, ...args])
        .toString()
        .trim()
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))

  /**
   * Puts an image with a shell into the registry, and answers its reference with the digest that
   * the registry has.
   */
  function publish({ address }: Registry, name: string): string {
    const container = buildah('from', 'scratch')
    run(['sh', '-euc', `umask 022; cd "$1"; ${shell}`, 'sh', buildah('mount', container)])
    const env = ['PATH=/opt/wrong', 'HOME=/wrong', 'HOSTNAME=wrong', 'SHELL=/wrong', 'USER=wrong', 'GREETING=hello you']
    const settings = ['--user', 'app', '--workingdir', '/srv/work', '--entrypoint', '["/bin/false"]', '--cmd', 'wrong']
    buildah('config', ...env.flatMap((variable) => ['--env', variable]), ...settings, container)
    const reference = `${address}/${name}`
    buildah('commit', '--quiet', container, reference)
    buildah('push', '--quiet', '--tls-verify=false', reference)
    const manifest = run(['skopeo', 'inspect', '--raw', '--tls-verify=false', `docker://${reference}`])
    return `${reference}@sha256:${createHash('sha256').update(manifest).digest('hex')}`
  }

  test('retry until the image exists, and then run as its user and in its directory', async () => {
    await using registry = await startRegistry()
    const reference = `${registry.address}/team/base:1`
    await using holtd = await startHoltd({ HOLT_BASE_IMAGE: reference })
    await failsWith(holtd, `The registry has no image ${reference}.`)
    const source = publish(registry, 'team/base:1')
    await vi.waitFor(async () => expect((await holtd.ask('GET', '/readyz')).status).toBe(200), {
      timeout: 90_000,
      interval: 100,
    })
    const template = (await holtd.ask('GET', '/v1/agents/template/base-small')).json
    expect(template).toMatchObject({
      state: 'ready',
      state_reason: null,
      source,
      user: 'app',
      workdir: '/srv/work',
      env: { GREETING: 'hello you', PATH: expect.stringMatching(/^\/workspace\/\.venv\/bin:.*:\/usr\/bin:/) },
      facts: { image: reference },
      has_checkpoint: false,
    })
    expect(Object.keys(template.env).sort()).toEqual(['GREETING', 'PATH'])

    for (const isolation of ['gvisor', 'container']) {
      const made = await holtd.ask('POST', '/v1/agents/runtime', { template: 'base-small', isolation, name: isolation })
      expect(made.status, `${isolation}: ${JSON.stringify(made.json)} ${holtd.log()}`).toBe(201)
      const id = made.json.runtime_id
      const command = 'id -u; id -un; pwd; echo "$GREETING"; echo "$HOME $USER $LOGNAME $SHELL"; echo "$PATH"; env'
      const { status, json } = await holtd.ask('POST', `/v1/agents/runtime/${id}/commands`, { command })
      expect(status, `${isolation}: ${JSON.stringify(json)}`).toBe(200)
      const [uid, name, cwd, greeting, login, path, ...env] = json.stdout.split('\n')
      expect([uid, name, cwd, greeting, login], isolation).toEqual([
        '1234',
        'app',
        '/srv/work',
        'hello you',
        '/home/app app app /bin/sh',
      ])
      expect(path).toBe(template.env.PATH)
      expect(env.join('\n')).not.toContain('wrong')
      const file = await holtd.ask('POST', `/v1/agents/runtime/${id}/commands`, { argv: ['sh', '-c', 'echo 1 >~/a'] })
      expect(file.json).toMatchObject({ exit_code: 0, stderr: '' })
    }
    // Both runtimes still run: `holtd purge` takes them away.
    expect(await holtd.leaks()).toEqual([])
  })

  test('report an image for another platform', async () => {
    await using registry = await startRegistry()
    const layout = join(dir, 'foreign')
    const layers = [{ tar: await tarOf(join(dir, 'tree'), 'echo a >a'), compression: 'gzip' as const }]
    await writeLayout(layout, layers, { architecture: 's390x' })
    const reference = `${registry.address}/team/foreign:1`
    const places = [`oci:${layout}`, `docker://${reference}`]
    run(['skopeo', '--insecure-policy', 'copy', '--quiet', '--dest-tls-verify=false', ...places])
    await using holtd = await startHoltd({ HOLT_BASE_IMAGE: reference })
    await failsWith(holtd, 'The image is for linux/s390x; this host runs linux/')
  })

  test('report an unreachable registry, and the service keeps running', async () => {
    const reference = `127.0.0.1:${await freePort()}/team/base:1`
    await using holtd = await startHoltd({ HOLT_BASE_IMAGE: reference })
    await failsWith(holtd, `${reference} could not be fetched: connection refused.`)
    expect((await holtd.ask('GET', '/healthz')).status).toBe(200)
    const create = await holtd.ask('POST', '/v1/agents/runtime', {})
    expect([create.status, create.json.error.code]).toEqual([503, 'unavailable'])
    expect(create.json.error.message).toContain('connection refused')
  })
})

/** Waits until the templates have failed for a reason, which `/readyz` says as well. */
async function failsWith(holtd: Awaited<ReturnType<typeof startHoltd>>, reason: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const { json: template } = await holtd.ask('GET', '/v1/agents/template/base-small')
      const { status, json: readiness } = await holtd.ask('GET', '/readyz')
      expect(template).toMatchObject({
        state: 'failed',
        state_reason: { code: 'build_failed', message: expect.stringContaining(reason) },
      })
      expect([status, readiness.reasons.join(' ')]).toEqual([503, expect.stringContaining(reason)])
    },
    { timeout: 60_000, interval: 50 },
  )
}
