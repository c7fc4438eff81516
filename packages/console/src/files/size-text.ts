const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** Returns a number of bytes in its largest unit: `512 B`, `1.5 KiB`, `20 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let size = bytes / 1024
  let at = 0
  for (; size >= 1024 && at < units.length - 1; at += 1) size /= 1024
  return `${size < 10 ? Math.floor(size * 10) / 10 : Math.floor(size)} ${units[at]}`
}
