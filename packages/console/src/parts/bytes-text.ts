const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Returns a number of bytes in the unit that makes it short: `512 B`, `1.5 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let at = 0
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024
    at += 1
  }
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`
}
