import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const script = fileURLToPath(new URL('../../../deploy/image/holt-pod', import.meta.url))

const keysOf = (...ids: string[]) => JSON.stringify({ keys: ids.map((id) => ({ id, key: 'secret', created_at: 1 })) })

/** Runs the first process of a pod, with an `nsenter` that prints its arguments. */
async function startPod({ own, given }: { readonly own?: string; readonly given: string }) {
  const dir = await mkdtemp(join(tmpdir(), 'holt-pod-test-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const [state, bin, secret] = [join(dir, 'state'), join(dir, 'bin'), join(dir, 'secret.json')]
  await mkdir(bin)
  const program = '#!/bin/sh\necho "$@"\nprintenv HOLT_POD_MASTER_KEYS || echo unset\n'
  await writeFile(join(bin, 'nsenter'), program)
  await chmod(join(bin, 'nsenter'), 0o755)
  await writeFile(secret, given)
  if (own !== undefined) {
    await mkdir(state)
    await writeFile(join(state, 'master-keys.json'), own)
  }
  // The groups of this machine stay as they are.
  const env = {
    PATH: `${bin}:/usr/bin:/bin`,
    HOLT_STATE_DIR: state,
    HOLT_POD_MASTER_KEYS: secret,
    HOLT_POD_CGROUPS: dir,
  }
  const { stdout, stderr } = await promisify(execFile)(script, ['serve'], { env })
  const file = join(state, 'master-keys.json')
  return { stdout, stderr, keys: await readFile(file, 'utf8'), mode: (await stat(file)).mode & 0o777 }
}

test('the first start of a host takes the master keys of the Secret', async () => {
  const started = await startPod({ given: keysOf('aaaaaaaaaaaa') })
  expect(started).toMatchObject({ keys: keysOf('aaaaaaaaaaaa'), mode: 0o600 })
  expect(started.stdout).toBe('--target 1 --cgroup -- holtd serve\nunset\n')
})

test('a key that an operator has added to the Secret reaches the host', async () => {
  const given = keysOf('aaaaaaaaaaaa', 'bbbbbbbbbbbb')
  expect((await startPod({ own: keysOf('aaaaaaaaaaaa'), given })).keys).toBe(given)
})

test('a key that the Secret lacks stays on the host', async () => {
  const own = keysOf('aaaaaaaaaaaa', 'bbbbbbbbbbbb')
  const started = await startPod({ own, given: keysOf('aaaaaaaaaaaa') })
  expect(started.keys).toBe(own)
  expect(started.stderr).toContain('has a key that the Secret lacks')
})
