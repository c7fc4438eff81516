/**
 * Text that is HTML. Only `html` makes it of other values, so unescaped text never gets into a
 * page.
 */
export interface Html {
  readonly markup: string
}

/**
 * A value in a template. HTML stays as it is, and text is escaped. Lists are joined, and null is
 * empty.
 */
type Part = Html | string | number | null | readonly Part[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Returns a piece of a page. Every value is escaped, so that it can stand between tags and in a
 * quoted attribute.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.map((text, index) => text + markupOf(parts[index] ?? null)).join('') }
}

/**
 * Returns text as HTML, with code in place of the parts in backquotes. Descriptions are written
 * that way.
 */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`
}

function markupOf(part: Part): string {
  if (part === null) return ''
  if (typeof part === 'object') return 'markup' in part ? part.markup : part.map(markupOf).join('')
  return String(part).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
