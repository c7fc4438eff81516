import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const script = fileURLToPath(new URL('../../../deploy/image/holt-pod', import.meta.url))

/** Runs the first process of a pod, with an `nsenter` that prints its arguments. */
async function startPod() {
  const dir = await mkdtemp(join(tmpdir(), 'holt-pod-test-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const [state, bin] = [join(dir, 'state'), join(dir, 'bin')]
  await mkdir(bin)
  const program = '#!/bin/sh\necho "$@"\nprintenv HOLT_POD_CGROUPS || echo unset\n'
  await writeFile(join(bin, 'nsenter'), program)
  await chmod(join(bin, 'nsenter'), 0o755)
  // The groups of this machine stay as they are.
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOLT_STATE_DIR: state, HOLT_POD_CGROUPS: dir }
  return promisify(execFile)(script, ['serve'], { env })
}

test('the daemon of a pod starts in the cgroup namespace of the machine', async () => {
  expect((await startPod()).stdout).toBe('--target 1 --cgroup -- holtd serve\nunset\n')
})
