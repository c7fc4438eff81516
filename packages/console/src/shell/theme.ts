import { useSyncExternalStore } from 'react'

/** A theme. `system` follows the settings of the machine. */
export type Theme = 'system' | 'light' | 'dark'

const themes: readonly Theme[] = ['system', 'light', 'dark']
const place = 'holt.theme'
const listeners = new Set<() => void>()
let current: Theme = themes.find((theme) => theme === localStorage.getItem(place)) ?? 'system'

/** Shows the theme that this browser uses. */
export function showTheme(): void {
  document.documentElement.dataset.theme = current
}

/** Returns the theme, and a function that changes to the next one. */
export function useTheme(): readonly [Theme, () => void] {
  const theme = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => current,
  )
  return [theme, showNextTheme]
}

/** Changes to the next theme, and keeps it for this browser. */
export function showNextTheme(): void {
  current = themes[(themes.indexOf(current) + 1) % themes.length] ?? 'system'
  localStorage.setItem(place, current)
  showTheme()
  for (const listener of listeners) listener()
}
