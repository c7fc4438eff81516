/** The maximum number of bytes of an image that is shown. */
export const imageBytes = 16 * 2 ** 20

const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}

/** Returns the media type of an image by the name of its file; null for any other file. */
export function imageType(name: string): string | null {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(types, extension) ? (types[extension] ?? null) : null
}
