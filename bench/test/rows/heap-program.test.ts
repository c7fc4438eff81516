import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { gapFile, heapProgram } from '../../rows/heap-program.ts'

const perl = '/usr/bin/perl'

it.skipIf(!existsSync(perl))('prints how long it was stopped, also twice', async () => {
  const [program = '', ...args] = heapProgram(1)
  await rm(gapFile, { force: true })
  const child = spawn(program, args, { stdio: 'ignore' })
  try {
    for (const stillMs of [300, 150]) {
      await expect.poll(() => existsSync(gapFile), { timeout: 10_000 }).toBe(true)
      await rm(gapFile)
      await expect.poll(() => existsSync(gapFile), { timeout: 10_000 }).toBe(true)
      child.kill('SIGSTOP')
      await sleep(stillMs)
      child.kill('SIGCONT')
      const gapMs = async () => 1000 * Number(await readFile(gapFile, 'utf8'))
      await expect.poll(gapMs, { timeout: 10_000 }).toBeGreaterThanOrEqual(0.9 * stillMs)
    }
  } finally {
    child.kill('SIGKILL')
    await rm(gapFile, { force: true })
  }
})
