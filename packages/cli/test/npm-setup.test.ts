import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const lib = fileURLToPath(new URL('../../../scripts/lib', import.meta.url))

/** Sets the npm packages up in an empty directory, with a program in the place of npm. */
function setUp(npm: string): { readonly lines: readonly string[]; readonly calls: number } {
  const folder = mkdtempSync(join(tmpdir(), 'holt-npm-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\necho "call: $1" >> ${folder}/calls\n${npm}\n`)
  chmodSync(join(folder, 'npm'), 0o755)
  const script = `set -euo pipefail; npm_log=${folder}/log; . ${lib}/report.sh; . ${lib}/npm.sh; ensure_npm_packages; cat calls`
  const { stdout } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${folder}:/usr/bin:/bin` },
  })
  const lines = stdout.trimEnd().split('\n')
  return {
    lines: lines.filter((line) => !line.startsWith('call: ')),
    calls: lines.filter((line) => line.startsWith('call: ')).length,
  }
}

const ownWords = 'npm error request to https://registry failed, reason: self-signed certificate'

test.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', 1, /^FIX: export NODE_EXTRA_CA_CERTS=FILE .* # the certificate of the npm registry/],
  ['ENOTFOUND', 1, /^FIX: npm config set registry URL .* # the npm registry cannot be reached/],
  ['ERESOLVE', 2, /^FIX: npm ci {2}# npm cannot install the packages/],
])('shows the last output of npm about %s, then what to do', (code, calls, fix) => {
  const npm = `echo 'npm error code ${code}' >&2; echo '${ownWords}' >&2; exit 3`
  const ended = setUp(npm)
  expect(ended.lines.slice(0, 4)).toEqual([
    'installing npm packages',
    'npm ended with exit code 3. The end of its output:',
    `  npm error code ${code}`,
    `  ${ownWords}`,
  ])
  expect(ended.lines.at(-1)).toMatch(fix)
  expect(ended.calls).toBe(calls)
})

test('says that npm timed out if it printed nothing', () => {
  const { lines, calls } = setUp('exit 124')
  expect(lines).toEqual([
    'installing npm packages',
    'npm took too long and was ended.',
    expect.stringMatching(/^FIX: npm ci {2}# npm cannot install the packages/),
  ])
  expect(calls).toBe(1)
})
