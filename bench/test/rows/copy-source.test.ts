import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeSource, makeSourceOnHost, parseClock, timedCopy } from '../../rows/copy-source.ts'

describe('the copied tree', () => {
  let dir = ''
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'holt-bench-test-'))
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  it('has the requested number of files', () => {
    const [program = '', ...args] = makeSource(join(dir, 'tree'), 450)
    execFileSync(program, args)
    const entries = readdirSync(join(dir, 'tree'), { recursive: true, withFileTypes: true })
    expect(entries.filter((entry) => entry.isFile())).toHaveLength(450)
    expect(entries.filter((entry) => entry.isDirectory())).toHaveLength(3)
  })

  it('has the same number of files of the same sizes on the host', async () => {
    await makeSourceOnHost(join(dir, 'tree'), 450)
    const entries = readdirSync(join(dir, 'tree'), { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    expect(files).toHaveLength(450)
    expect(entries.filter((entry) => entry.isDirectory())).toHaveLength(3)
    const sizes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
    expect(Math.max(...sizes)).toBeLessThan(8192)
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length
    expect(Math.abs(mean - 4096)).toBeLessThan(400)
  })

  it('is copied by cp, timed by the clock inside', () => {
    writeFileSync(join(dir, 'from'), 'content')
    const [program = '', ...args] = timedCopy(join(dir, 'from'), join(dir, 'to'))
    expect(parseClock(execFileSync(program, args, { encoding: 'utf8' }))).toBeGreaterThan(0)
    expect(readFileSync(join(dir, 'to'), 'utf8')).toBe('content')
  })

  it('fails if cp fails, and then has no time', () => {
    const [program = '', ...args] = timedCopy(join(dir, 'missing'), join(dir, 'to'))
    expect(() => execFileSync(program, args, { stdio: 'pipe' })).toThrow()
    expect(() => parseClock('')).toThrow('not two times')
  })
})
