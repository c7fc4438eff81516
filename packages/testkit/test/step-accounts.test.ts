import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const results = mkdtempSync(join(tmpdir(), 'holt-step-accounts-'))
afterAll(() => rmSync(results, { recursive: true }))

/** A program that works until it has used 300 ms of processor time. */
const work = `${process.execPath} -e 'while (process.resourceUsage().userCPUTime < 300_000);'`

/** Runs steps in a directory for their results, and returns the printed lines. */
function run(steps: string): readonly string[] {
  const script = `set -euo pipefail
results=$1
. scripts/lib/step-accounts.sh
open_accounts
${steps}
show_steps
close_accounts
kill $(jobs -p) 2>/dev/null || true`
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', results], {
    cwd: repository,
    encoding: 'utf8',
  })
  expect(`${status} ${stderr}`).toBe('0 ')
  return stdout.trimEnd().split('\n')
}

/** Returns the columns of a step by its name. */
function columnsOf(lines: readonly string[], step: string): readonly string[] {
  const line = lines.find((each) => each.endsWith(`  ${step}`)) ?? ''
  return line.trim().split(/ +/).slice(0, 5)
}

test('a step has its times, and a failed one keeps its status', () => {
  const lines = run(`timed 'the first one' true
timed fails sh -c 'exit 7' || echo "status $?"`)
  expect(lines).toContain('status 7')
  expect(columnsOf(lines, 'the first one')[0]).toMatch(/^\d+\.\d$/)
  expect(lines.at(-1)).toMatch(
    /^The run took \d+ s\. The processors of the machine worked \d+ s and were idle \d+ s\.$/,
  )
})

/** The groups that this machine lets root make. */
const canAccount = process.getuid?.() === 0 && existsSync('/sys/fs/cgroup')

test.skipIf(!canAccount)('the processor time of a step has its left processes, and none of another step', () => {
  const lines = run(`timed waits sleep 0.1 &
one=$!
timed works sh -c "${work.replaceAll('"', '\\"')}; setsid ${work.replaceAll('"', '\\"')} & wait"
wait $one`)
  const [, , works] = columnsOf(lines, 'works')
  const [, , waits] = columnsOf(lines, 'waits')
  expect(Number(works)).toBeGreaterThanOrEqual(0.6)
  expect(Number(waits)).toBeLessThan(0.3)
})

test('nothing of the accounts is left', () => {
  const accounts = run('timed one true\necho "at $ACCOUNTS"').find((line) => line.startsWith('at /sys/fs/cgroup'))
  expect(accounts === undefined || existsSync(accounts.slice('at '.length))).toBe(false)
})
