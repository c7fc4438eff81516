import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BuildContext } from '@holt/protocol'
import { expect, onTestFinished } from 'vitest'
import { call, success } from '../../e2e/support/api.ts'
import { rawTar } from '../../e2e/support/tar.ts'
import { buildsPath, endOf, templatesPath } from '../../e2e/support/test-build.ts'
import { createRuntime } from '../../e2e/support/test-runtime.ts'
import { until } from '../../e2e/support/until.ts'
import { run } from '../../packages/builder/test/support/machine.ts'
import { writeLayout } from '../../packages/builder/test/support/oci-image.ts'
import { type Registry, startRegistry } from '../../packages/builder/test/support/registry.ts'
import { makeSmallBase } from '../../packages/builder/test/support/small-base.ts'
import type { Scenario } from './scenarios.ts'

/** A registry on loopback with small systems. Each is a separate image, so that each is pulled. */
interface Shelf {
  /** Adds an image with this name to the registry and returns its reference. */
  publish(name: string): Promise<string>
}

let shelf: Promise<Shelf> | null = null

/** Starts the registry for the running test. */
async function openShelf(): Promise<Shelf> {
  const dir = mkdtempSync(join(tmpdir(), 'holt-chaos-images-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const registry: Registry = await startRegistry()
  onTestFinished(async () => {
    shelf = null
    await registry[Symbol.asyncDispose]()
  })
  const tree = mkdtempSync(join(dir, 'tree-'))
  makeSmallBase(tree)
  const tar = run(['tar', '--format=pax', '--numeric-owner', '-C', tree, '-c', '.'])
  return {
    publish: async (name) => {
      const layout = join(dir, name)
      await writeLayout(layout, [{ tar, compression: 'gzip' }], { config: { Labels: { name } } })
      const reference = `${registry.address}/${name}:1`
      const flags = ['--quiet', '--dest-tls-verify=false']
      run(['skopeo', '--insecure-policy', 'copy', ...flags, `oci:${layout}`, `docker://${reference}`])
      rmSync(layout, { recursive: true })
      return reference
    },
  }
}

/**
 * A build from a container image that is pulled for it, with a file of a context and a step that
 * reads the file.
 */
export const pulledBuild: Scenario = {
  name: 'build of a container image',
  prepare: async () => {
    const name = `t-${crypto.randomUUID()}`
    shelf ??= openShelf()
    const reference = await (await shelf).publish(name)
    const body = rawTar({ name: 'file', content: name })
    const { context_id } = success(await call('POST', `${templatesPath}/context`, { body }), 201, BuildContext)
    const steps = [{ copy: { source: 'file', destination: '/srv/copied' } }, { run: 'cp /srv/copied /srv/built' }]
    const json = { name, from_image: reference, context_id, steps }
    const builds = async () => {
      const { data } = JSON.parse((await call('GET', buildsPath, { query: { limit: 100 } })).text) as {
        data: { name: string; build_id: string; status: string }[]
      }
      return data.filter((one) => one.name === name)
    }
    const act = (key: string) => call('POST', buildsPath, { json, headers: { 'idempotency-key': key } })
    const over = async () => {
      for (const { build_id } of await builds()) await endOf(build_id)
    }
    const expectBuilt = async () => {
      await using runtime = await createRuntime({ template: name })
      expect(await runtime.sh('cat /srv/copied /srv/built')).toBe(`${name}${name}`)
    }
    return {
      act,
      over,
      check: async () => {
        if ((await builds()).some(({ status }) => status === 'ready')) await expectBuilt()
        const anew = await act(crypto.randomUUID())
        expect(anew.status, anew.text).toBe(202)
        await over()
        await expectBuilt()
        await until('the template is gone', async () =>
          [204, 404].includes((await call('DELETE', `${templatesPath}/${name}`)).status),
        )
      },
    }
  },
}
