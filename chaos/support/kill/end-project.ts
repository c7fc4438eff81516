import { Build, Runtime, Snapshot, Template } from '@holt/protocol'
import { expect } from 'vitest'
import { runtimesPath, success } from '../../../e2e/support/api.ts'
import { buildsPath, templatesPath } from '../../../e2e/support/test-build.ts'
import { snapshotsPath } from '../../../e2e/support/test-snapshots.ts'
import { until } from '../../../e2e/support/until.ts'
import { deleteProject } from '../own-project.ts'
import { type Ask, listAll } from './ask.ts'
import { digestsOf } from './check-inside.ts'
import type { Ledger } from './ledger.ts'
import { settingsPaths } from './settings-worker.ts'

/**
 * The timeout of a build, in milliseconds. It boots a runtime and takes a checkpoint, possibly on a
 * busy machine.
 */
const buildMs = 240_000

/** Expects that a runtime can be made of each snapshot, and has its files. Returns their number. */
export async function restoreSnapshots(ask: Ask, ledger: Ledger): Promise<number> {
  const ready = [...ledger.snapshots.values()].filter(({ state }) => state.isKnown('ready'))
  for (const { id, files } of ready) {
    const json = { snapshot: id, timeout_secs: null }
    const made = success(await ask('POST', runtimesPath, { json }), 201, Runtime)
    expect(await digestsOf(ask, made.runtime_id, [...files.keys()]), id).toEqual(files)
    expect((await ask('DELETE', `${runtimesPath}/${made.runtime_id}`)).status).toBe(204)
  }
  return ready.length
}

/**
 * Expects that an undisturbed build succeeds, under a name whose earlier builds were interrupted.
 * Expects that a runtime of it has the built file.
 */
export async function buildToItsEnd(ask: Ask, name: string): Promise<void> {
  const json = { name, from_template: 'base-small', steps: [{ run: 'echo built > /workspace/built' }] }
  const { build_id } = JSON.parse((await ask('POST', buildsPath, { json })).text)
  const { status, reason } = await until(
    'the build has ended',
    async () => {
      const build = success(await ask('GET', `${buildsPath}/${build_id}`), 200, Build)
      return build.ended_at === null ? null : build
    },
    buildMs,
  )
  expect(status, JSON.stringify(reason)).toBe('ready')
  const made = success(await ask('POST', runtimesPath, { json: { template: name } }), 201, Runtime)
  expect((await digestsOf(ask, made.runtime_id, ['/workspace/built'])).size).toBe(1)
  expect((await ask('DELETE', `${runtimesPath}/${made.runtime_id}`)).status).toBe(204)
}

/**
 * Deletes everything in the ledger, and then the project, whose deletion is refused while it is not
 * empty.
 */
export async function endProject(ask: Ask, projectId: string, ledger: Ledger): Promise<void> {
  const paths = [
    ...[...ledger.runtimes.values()].map(({ id, state }) =>
      state.isKnown('terminated') ? null : `${runtimesPath}/${id}`,
    ),
    ...[...ledger.snapshots.values()].map(({ id, state }) =>
      state.isKnown('deleted') ? null : `${snapshotsPath}/${id}`,
    ),
    ...[...ledger.policies].map(([name, fact]) => (fact.isKnown(null) ? null : `${settingsPaths.policies}/${name}`)),
    ...[...ledger.secrets].map(([name, fact]) => (fact.isKnown(null) ? null : `${settingsPaths.secrets}/${name}`)),
  ]
  for (const path of paths) if (path !== null) expect((await ask('DELETE', path)).status, path).toBe(204)
  for (const { template_id, kind } of await listAll(ask, templatesPath, Template))
    if (kind === 'custom') expect((await ask('DELETE', `${templatesPath}/${template_id}`)).status).toBe(204)
  for (const { snapshot_id, state } of await listAll(ask, snapshotsPath, Snapshot))
    if (state === 'failed') expect((await ask('DELETE', `${snapshotsPath}/${snapshot_id}`)).status).toBe(204)
  const { status, text } = await deleteProject(projectId)
  expect(status, text).toBe(204)
}
