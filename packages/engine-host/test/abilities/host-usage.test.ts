import { expect, test } from 'vitest'
import { readDisk } from '../../src/abilities/host-usage.ts'

test('the disk of a removed runtime is gone, and an unreadable one is an error', async () => {
  await expect(readDisk('/nowhere/disk')).rejects.toMatchObject({ name: 'EngineError', kind: 'gone' })
  await expect(readDisk('/dev/null/disk')).rejects.toMatchObject({ name: 'EngineError', kind: 'failed' })
  await expect(readDisk('/')).resolves.toBeGreaterThan(0)
})
