import { useSyncExternalStore } from 'react'

const units: readonly (readonly [unit: string, secs: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
]

/** Returns a length of time in its largest unit: `5 s`, `12 min`, `3 h`, `2 d`. */
export function spanText(ms: number): string {
  const secs = Math.max(0, Math.floor(ms / 1000))
  const [unit, size] = units.find(([, size]) => secs >= size) ?? ['s', 1]
  return `${Math.floor(secs / size)} ${unit}`
}

/** Returns a duration in at most two units: `12 ms`, `1.5 s`, `4 min 5 s`, `1 h 2 min`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const secs = Math.floor(ms / 1000)
  if (secs < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(secs / 60)
  if (minutes < 60) return `${minutes} min ${secs % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Returns the present time in whole seconds, as milliseconds. It moves every second. */
export function useNow(): number {
  return useSyncExternalStore(onTick, () => Math.floor(Date.now() / 1000) * 1000)
}

/** Returns a text of the present time. Its component renders again only when the text changes. */
export function useTimedText(textAt: (now: number) => string): string {
  return useSyncExternalStore(onTick, () => textAt(Date.now()))
}

const listeners = new Set<() => void>()
let clock: ReturnType<typeof setInterval> | undefined

/** Calls a function every second. All components share one timer. */
function onTick(listener: () => void): () => void {
  listeners.add(listener)
  clock ??= setInterval(() => {
    for (const each of listeners) each()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(clock)
    clock = undefined
  }
}
