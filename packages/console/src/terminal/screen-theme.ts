import type { ITheme } from '@xterm/xterm'

const dark: ITheme = {
  background: '#14181a',
  foreground: '#e8ecee',
  cursor: '#62c9ae',
  cursorAccent: '#14181a',
  selectionBackground: '#3f5d57',
  black: '#2a3136',
  red: '#ff8f85',
  green: '#7ed39b',
  yellow: '#e6c26a',
  blue: '#83b7ff',
  magenta: '#dca0ea',
  cyan: '#6fd0dd',
  white: '#d4dadd',
  brightBlack: '#8f9ba1',
  brightRed: '#ffb0a8',
  brightGreen: '#a3e5b8',
  brightYellow: '#f3d894',
  brightBlue: '#abcfff',
  brightMagenta: '#ecc3f5',
  brightCyan: '#9fe4ee',
  brightWhite: '#ffffff',
}

const light: ITheme = {
  background: '#ffffff',
  foreground: '#1b2124',
  cursor: '#17604f',
  cursorAccent: '#ffffff',
  selectionBackground: '#bfe0d7',
  black: '#1b2124',
  red: '#a3271d',
  green: '#1d6b34',
  yellow: '#7a5600',
  blue: '#1d55b0',
  magenta: '#84268f',
  cyan: '#0d626d',
  white: '#535d62',
  brightBlack: '#5d676c',
  brightRed: '#b83227',
  brightGreen: '#22763b',
  brightYellow: '#7f5a00',
  brightBlue: '#2a62c0',
  brightMagenta: '#8f3199',
  brightCyan: '#136c78',
  brightWhite: '#3b4347',
}

/**
 * Calls a function with the colors of the page's theme, now and after each change. Returns a
 * function that ends this.
 */
export function followTheme(show: (theme: ITheme) => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const look = () => {
    const { theme } = document.documentElement.dataset
    const isDark = theme === 'dark' || (theme !== 'light' && system.matches)
    show(isDark ? dark : light)
  }
  const observer = new MutationObserver(look)
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', look)
  look()
  return () => {
    observer.disconnect()
    system.removeEventListener('change', look)
  }
}
