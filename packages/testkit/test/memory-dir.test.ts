import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { memoryDir } from '../src/index.ts'

test('files are in memory, or in the temporary directory', () => {
  expect(['/dev/shm', tmpdir()]).toContain(memoryDir())
})

test.each(['/proc', '/nowhere'])('%s is not usable for files', (dir) => {
  expect(memoryDir(dir)).toBe(tmpdir())
})
