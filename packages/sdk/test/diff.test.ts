import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

test('diff returns a page of changes, and the next one by its cursor', async () => {
  const runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create()
  const first = await runtime.diff({ path: '/w' })
  expect(first).toMatchObject({ data: [{ path: '/w/a', change: 'added' }], truncated: true, patch: null })
  const second = await runtime.diff({ path: '/w', patch: true, cursor: first.next_cursor ?? '' })
  expect(second).toMatchObject({ data: [{ path: '/w/b', patch: 'shown' }], next_cursor: null, patch_complete: true })
  expect(second.patch).toBe('diff --git a/w/b b/w/b\n')
})
