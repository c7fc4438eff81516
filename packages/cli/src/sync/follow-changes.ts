import { EventEmitter, once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from '../output/print.ts'

/**
 * How long it has to be quiet before what has changed is looked at: programs write several files at
 * once.
 */
const quietMs = 100
/** What never gets quiet is looked at all the same. */
const longestWaitMs = 2_000
/**
 * How often a tree is looked at though nothing was heard of it: a directory that was just made may
 * be heard of too late.
 */
const rescanMs = 10_000
/** As often, where the system does not tell of changes at all. */
const pollMs = 2_000

/**
 * Calls `look` whenever a directory of this machine may have changed, and now and then without
 * that, until the signal ends. Never twice at once.
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
    say(`holt: the system does not tell of changes (${error.message}): looking every ${pollMs / 1000} s`)
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
 * Waits for a touch, for a while, or for the end of the signal; nothing of the waiting is left
 * behind.
 */
async function touchOrPause(touched: EventEmitter, pauseMs: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const waiting = AbortSignal.any([signal, over.signal])
  const waits = [once(touched, 'touch', { signal: waiting }), sleep(pauseMs, undefined, { signal: waiting })]
  // Whichever is first, the other one ends with it; an end by the signal is no failure here.
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
