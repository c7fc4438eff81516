const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Returns a number of bytes in its largest unit, with at most one decimal: `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const place = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  return `${numberText(bytes / 1024 ** place)} ${units[place] ?? 'bytes'}`
}

/** Returns a number of MiB in its largest unit. */
export function mibText(mib: number): string {
  return bytesText(mib * 2 ** 20)
}

/** Returns a number with at most one decimal. */
export function numberText(amount: number): string {
  return amount.toLocaleString('en', { maximumFractionDigits: 1 })
}
