import { EventEmitter, once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from '../output/print.ts'

/**
 * The quiet time before a change is processed, in milliseconds. Programs write several files at
 * once.
 */
const quietMs = 100
/** The longest delay if changes never stop, in milliseconds. */
const longestWaitMs = 2_000
/**
 * The interval of scans without a notification, in milliseconds. The watch of a new directory may
 * begin too late to see its first changes.
 */
const rescanMs = 10_000
/** The interval of scans if the system has no notifications, in milliseconds. */
const pollMs = 2_000

/**
 * Calls `look` whenever a local directory may have changed, and at intervals, until the signal
 * ends. Calls never overlap.
 */
export async function followChanges(
  directory: string,
  { look, signal }: { look: () => Promise<void>; signal: AbortSignal },
): Promise<void> {
  const touched = new EventEmitter()
  const state = { touches: 0, everyMs: rescanMs }
  const onTouch = () => {
    state.touches += 1
    touched.emit('touch')
  }
  const onFailure = (error: Error) => {
    state.everyMs = pollMs
    say(`holt: the system cannot report changes (${error.message}), so the files are checked every ${pollMs / 1000} s`)
  }
  const watcher = startWatching(directory, onTouch, onFailure)
  try {
    for (let looked = 0; ; ) {
      if (state.touches === looked) await touchOrPause(touched, state.everyMs, signal)
      await orAborted(untilQuiet(state), signal)
      if (signal.aborted) return
      looked = state.touches
      await look()
    }
  } finally {
    watcher?.close()
  }
}

/**
 * Waits for a touch, for a pause, or for the end of the signal. It leaves no listener and no timer
 * behind.
 */
async function touchOrPause(touched: EventEmitter, pauseMs: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const waiting = AbortSignal.any([signal, over.signal])
  const waits = [once(touched, 'touch', { signal: waiting }), sleep(pauseMs, undefined, { signal: waiting })]
  // The first wait to end also ends the other one. The end of the signal is no failure here.
  await Promise.race(waits.map((wait) => wait.catch(() => undefined)))
  over.abort()
}

async function untilQuiet(state: { readonly touches: number }): Promise<void> {
  const startMs = performance.now()
  for (let seen = -1; seen !== state.touches && performance.now() - startMs < longestWaitMs; ) {
    seen = state.touches
    await sleep(quietMs)
  }
}

/** Waits for a promise, or for the end of the signal, which is no failure here. */
async function orAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const ended = Promise.withResolvers<void>()
  const end = () => ended.resolve()
  signal.addEventListener('abort', end, { once: true })
  await Promise.race([promise, ended.promise])
  signal.removeEventListener('abort', end)
}

function startWatching(directory: string, onTouch: () => void, onFailure: (error: Error) => void): FSWatcher | null {
  try {
    return watch(directory, { recursive: true }, onTouch).on('error', onFailure)
  } catch (error) {
    onFailure(error as Error)
    return null
  }
}
