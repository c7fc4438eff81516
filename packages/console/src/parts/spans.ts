import { useEffect, useState } from 'react'

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

/** Returns the present time, which moves every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}
