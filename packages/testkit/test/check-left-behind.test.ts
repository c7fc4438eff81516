import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

const leaks = {
  environment: "process.env.HOLT_LEFT = '1'",
  clock: 'vi.useFakeTimers()',
  function: 'globalThis.fetch = () => undefined',
  directory: "process.chdir('/')",
  listener: "process.on('SIGTERM', () => undefined)",
}

test('a file that leaves its process changed fails, and only that file', { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'holt-left-behind-'))
  try {
    symlinkSync(join(repository, 'node_modules'), join(dir, 'node_modules'))
    const imports = "import { expect, test, vi } from 'vitest'\n"
    for (const [name, line] of Object.entries({ ...leaks, nothing: "vi.spyOn(console, 'log')" }))
      writeFileSync(join(dir, `${name}.test.mjs`), `${imports}test('passes', () => void (${line}))\n`)
    const config = {
      isolate: false,
      maxWorkers: 1,
      setupFiles: [join(repository, 'packages/testkit/test/support/check-left-behind.ts')],
    }
    writeFileSync(join(dir, 'vitest.config.mjs'), `export default { test: ${JSON.stringify(config)} }`)
    const vitest = [
      join(repository, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=json',
      '--outputFile=out.json',
    ]
    const { VITEST: _vitest, ...env } = process.env
    const { stdout, stderr } = spawnSync(process.execPath, vitest, { cwd: dir, env, encoding: 'utf8' })
    const report = spawnSync('cat', ['out.json'], { cwd: dir, encoding: 'utf8' }).stdout
    expect(report, stdout + stderr).not.toBe('')
    const { testResults } = JSON.parse(report) as { testResults: { name: string; status: string }[] }
    const failed = testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)
    expect(failed.toSorted()).toEqual(
      Object.keys(leaks)
        .map((name) => join(dir, `${name}.test.mjs`))
        .toSorted(),
    )
  } finally {
    rmSync(dir, { recursive: true })
  }
})
