const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/**
 * Returns a number of bytes in its largest unit, rounded down to one decimal: `512 B`, `1.5 GiB`.
 */
export function bytesText(bytes: number): string {
  let [size, at] = [bytes, 0]
  for (; size >= 1024 && at < units.length - 1; at += 1) size /= 1024
  return `${numberText(at === 0 ? Math.floor(size) : Math.floor(size * 10) / 10)} ${units[at]}`
}

/** Returns a number of MiB in its largest unit. */
export function mibText(mib: number): string {
  return bytesText(mib * 2 ** 20)
}

/** Returns a number with at most one decimal. */
export function numberText(amount: number): string {
  return amount.toLocaleString('en', { maximumFractionDigits: 1 })
}
