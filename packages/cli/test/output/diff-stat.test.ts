import type { DiffEntry, FileDiff } from '@holt/sdk'
import { expect, test } from 'vitest'
import { diffStat } from '../../src/output/diff-stat.ts'

const entry = (path: string, change: DiffEntry['change'], patch: DiffEntry['patch']): DiffEntry => ({
  ...{ path, change, patch, type: 'file', previous_type: 'file', size_bytes: 5, previous_size_bytes: 3 },
  ...{ mode: '0644', previous_mode: '0644', uid: 0, previous_uid: 0, gid: 0, previous_gid: 0 },
})

test('counts added and removed lines, also where content looks like a head', () => {
  const lines = ['diff --git a/a b/a', 'index 1..2', '--- a/a', '+++ b/a', '@@ -1,2 +1,3 @@', ' diff --git a/x b/x']
  const patch = [...lines, '--- a/x', '+++ b/x', '+@@ -1,9 +1,9 @@', 'diff --git a/b b/b', 'old mode 100644', ''].join(
    '\n',
  )
  const data = [
    entry('/a', 'modified', 'shown'),
    entry('/b', 'attributes', 'shown'),
    entry('/long', 'modified', 'binary'),
  ]
  expect(diffStat({ data, patch } as FileDiff)).toEqual([
    ' /a    | 3 ++-',
    ' /b    | attributes',
    ' /long | binary, 3 -> 5 bytes',
  ])
})
