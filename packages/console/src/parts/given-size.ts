/** Returns a size as the API takes it: a number means GiB, and a text has its unit. */
export function givenSize(text: string): number | string | undefined {
  const size = text.trim()
  if (size === '') return undefined
  return /^\d+(\.\d+)?$/.test(size) ? Number(size) : size
}
