/** The maximum number of characters of a title that are shown. */
const titleLength = 100

/**
 * Returns a title of a program as text for people: without control characters and without those
 * that change the direction of the text around it.
 */
export function titleText(title: string): string {
  const text = title.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '').trim()
  return text.length > titleLength ? `${text.slice(0, titleLength)}…` : text
}

/**
 * Returns pasted text without control characters other than tabs and line ends. With an escape a
 * text could end the brackets of a paste, and run the rest as commands.
 */
export function pastedText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\r\n]/gu, '')
}

/** The target of a link, as a browser would open it. */
export interface LinkTarget {
  readonly href: string
  /** The host that the browser would connect to. */
  readonly host: string
}

/** Returns the target of a link in output; null if it is not an address of the Web. */
export function linkTarget(uri: string): LinkTarget | null {
  if (!URL.canParse(uri)) return null
  const { href, host, protocol } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? { href, host } : null
}
