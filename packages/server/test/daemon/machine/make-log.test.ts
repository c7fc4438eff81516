import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'

const module = new URL('../../../src/daemon/machine/make-log.ts', import.meta.url).href

test('a log on a full disk blocks nobody and keeps no lines in memory', () => {
  const full = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(full))
  const program = `
    import { makeLog } from '${module}'
    const log = makeLog({ logLevel: 'info' })
    for (let line = 0; line < 5_000; line += 1) log.info({ text: 'x'.repeat(10_000) }, 'a line')
    globalThis.gc()
    process.stderr.write(String(process.memoryUsage().heapUsed < 30 * 2 ** 20))`
  const argv = ['--expose-gc', '--input-type=module', '-e', program]
  const { status, stderr } = spawnSync(process.execPath, argv, { stdio: ['ignore', full, 'pipe'], timeout: 60_000 })
  expect([status, String(stderr)]).toEqual([0, 'true'])
})
