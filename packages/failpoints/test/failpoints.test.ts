import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'

afterEach(() => vi.unstubAllEnvs())

let loads = 0

/**
 * Returns the module as a process has it that was started with this setting. Node loads a module
 * again for another query.
 */
async function failpointsWith(setting: string | undefined): Promise<typeof import('../src/failpoints.ts')> {
  vi.stubEnv('HOLT_FAILPOINTS', setting)
  loads += 1
  return import(`../src/failpoints.ts?load=${loads}`)
}

async function fileWith(text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-failpoints-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const path = join(dir, 'armed')
  await writeFile(path, text)
  return path
}

describe('failpoints', () => {
  test('do nothing in a process that did not enable them', async () => {
    const { failpoint, failpointNames, failpointsAreArmed } = await failpointsWith(undefined)
    expect(failpointsAreArmed).toBe(false)
    for (const name of failpointNames) await failpoint(name)
  })

  test('have unique names', async () => {
    const { failpointNames } = await failpointsWith(undefined)
    expect(new Set(failpointNames).size).toBe(failpointNames.length)
    expect(failpointNames).toContain('create.reserved')
  })

  test('throw at the given hit, and at no other', async () => {
    const { failpoint } = await failpointsWith('create.bound=error@2')
    await failpoint('create.bound')
    await failpoint('create.reserved')
    await expect(failpoint('create.bound')).rejects.toThrow('create.bound')
    await failpoint('create.bound')
  })

  test('wait', async () => {
    const { failpoint } = await failpointsWith('create.bound=sleep:40')
    const before = performance.now()
    await failpoint('create.bound')
    expect(performance.now() - before).toBeGreaterThan(30)
  })

  test('end the process at once, and nothing runs after them', async () => {
    const { failpoint } = await failpointsWith('create.bound=kill')
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => true)
    onTestFinished(() => kill.mockRestore())
    const after = vi.fn()
    void failpoint('create.bound').then(after)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL')
    expect(after).not.toHaveBeenCalled()
  })

  test('are armed by a changing file, and each hit is recorded beside it', async () => {
    const path = await fileWith('# the first\ncreate.bound=error')
    const { failpoint } = await failpointsWith(`@${path}`)
    await expect(failpoint('create.bound')).rejects.toThrow()
    await failpoint('create.bound')
    await writeFile(path, '# the second\ncreate.bound=error')
    await expect(failpoint('create.bound')).rejects.toThrow()
    await rm(path)
    await failpoint('create.bound')
    expect(await readFile(`${path}.hits`, 'utf8')).toBe('create.bound\n'.repeat(4))
  })

  test.each(['create.bond=error', 'create.bound=fail', 'create.bound', 'create.bound=error@x'])(
    'are not armed by %s',
    async (setting) => {
      await expect(failpointsWith(setting)).rejects.toThrow('HOLT_FAILPOINTS')
    },
  )
})
