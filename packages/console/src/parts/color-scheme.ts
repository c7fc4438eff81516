import { useSyncExternalStore } from 'react'

/** Returns true while the page is dark: by its theme, or by the settings of the machine. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark)
}

const dark = matchMedia('(prefers-color-scheme: dark)')

function isDark(): boolean {
  const { theme } = document.documentElement.dataset
  return theme === 'dark' || (theme !== 'light' && dark.matches)
}

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  dark.addEventListener('change', listener)
  return () => {
    observer.disconnect()
    dark.removeEventListener('change', listener)
  }
}
