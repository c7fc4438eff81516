import { afterAll, expect, vi } from 'vitest'

/** The globals that a test may replace, and that the next file of the same process would meet. */
const globals = [
  'Date',
  'WebSocket',
  'clearInterval',
  'clearTimeout',
  'fetch',
  'performance',
  'queueMicrotask',
] as const
const timers = ['setImmediate', 'setInterval', 'setTimeout'] as const
/** The events of the process that have listeners only while something runs. */
const events = ['SIGHUP', 'SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection'] as const

/** Returns the state of the process that its files share. */
export function sharedState() {
  return {
    env: { ...process.env },
    cwd: process.cwd(),
    umask: process.umask(),
    exitCode: process.exitCode,
    globals: Object.fromEntries([...globals, ...timers].map((name) => [name, globalThis[name]])),
    now: [performance.now, process.hrtime, process.nextTick],
    fakeTimers: vi.isFakeTimers(),
    listeners: Object.fromEntries(events.map((name) => [name, process.listenerCount(name)])),
  }
}

// vitest runs this file before each test file, so the hook runs after all others of the test file.
const before = sharedState()
afterAll(() => {
  expect(sharedState(), 'the process is as this file found it').toStrictEqual(before)
})
