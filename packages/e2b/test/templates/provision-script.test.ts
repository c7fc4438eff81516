import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { installScript } from '../../src/templates/provision-script.ts'

/** Runs the script with these programs alone, and returns the calls of the package manager. */
function install(programs: readonly string[], manager: string): readonly string[] {
  const dir = mkdtempSync(join(tmpdir(), 'holt-provision-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const calls = join(dir, 'calls')
  writeFileSync(calls, '')
  for (const name of ['rm', 'tail']) symlinkSync(join('/bin', name), join(dir, name))
  for (const name of [...programs, manager])
    writeFileSync(join(dir, name), `#!/bin/sh\necho "$@" >>${calls}\n`, { mode: 0o755 })
  const { status, stderr } = spawnSync('/bin/sh', ['-uc', installScript], { env: { PATH: dir }, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return readFileSync(calls, 'utf8').trim().split('\n')
}

const wanted = ['bash', 'curl', 'sudo', 'ss', 'pgrep', 'git']

test.each([
  ['apt-get', 'iproute2 procps git'],
  ['apk', 'iproute2 procps git'],
  ['dnf', 'iproute procps-ng git'],
  ['microdnf', 'iproute procps-ng git'],
  ['yum', 'iproute procps-ng git'],
])('installs the packages of missing programs with %s', (manager, packages) => {
  const calls = install(['bash', 'curl', 'sudo'], manager)
  expect(calls.at(-1)).toMatch(new RegExp(` ${packages}(?: ca-certificates)?$`))
})

test('does not call the package manager if nothing is missing', () => {
  const [call = ''] = install(wanted, 'apk')
  // The certificates are those of this machine.
  expect(call).toMatch(/^(?:add --no-cache ca-certificates)?$/)
})
