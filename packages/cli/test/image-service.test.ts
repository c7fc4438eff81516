import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

// The container image as a whole runs in scripts/test-release.sh. Here a program stands for holtd.

const script = fileURLToPath(new URL('../../../deploy/image/holt-service', import.meta.url))

/**
 * Writes what it is asked to `log`. `serve` ends by itself with code 3, or at SIGTERM with code 0.
 */
const standIn = `#!/bin/sh
echo "$*" >>"$LOG"
case $1 in
serve)
	trap 'echo ended >>"$LOG"; exit 0' TERM
	echo ready
	[ "\${2:-}" != briefly ] || exit 3
	while :; do sleep 0.01; done ;;
doctor) exit 1 ;;
esac
`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holt-service-'))
  await writeFile(join(folder, 'holtd'), standIn)
  await chmod(join(folder, 'holtd'), 0o755)
})
afterEach(() => rm(folder, { recursive: true }))

/**
 * Runs the script, and returns its code and what ran. A signal is sent once the service runs.
 */
async function runService(args: readonly string[], signal?: 'SIGTERM' | 'SIGINT') {
  const log = join(folder, 'log')
  const env = { PATH: `${folder}:/usr/bin:/bin`, LOG: log }
  const child = spawn(script, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  if (signal !== undefined) {
    await once(child.stdout, 'data')
    child.kill(signal)
  }
  const [code] = await ended
  return { code, ran: (await readFile(log, 'utf8')).trim().split('\n') }
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends the service, and then the runtimes', async (signal) => {
  expect(await runService(['serve'], signal)).toEqual({ code: 0, ran: ['serve', 'ended', 'halt'] })
})

test('a service that ends by itself also ends the runtimes, and the container has its exit code', async () => {
  expect(await runService(['serve', 'briefly'])).toEqual({ code: 3, ran: ['serve briefly', 'halt'] })
})

test('another verb does not stop the runtimes', async () => {
  expect(await runService(['doctor', '--json'])).toEqual({ code: 1, ran: ['doctor --json'] })
})
