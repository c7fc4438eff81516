/**
 * Text that is HTML. Only `html` makes it of what is not: nothing that was not escaped gets into a
 * page.
 */
export interface Html {
  readonly markup: string
}

/**
 * What may stand in a template: HTML as it is, text escaped, lists one after another, null as
 * nothing.
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
 * A piece of a page. Every value is escaped, so that it can stand between tags and within a quoted
 * attribute.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.map((text, index) => text + markupOf(parts[index] ?? null)).join('') }
}

/** Text in which what stands in backquotes is code, as descriptions are written. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`
}

function markupOf(part: Part): string {
  if (part === null) return ''
  if (typeof part === 'object') return 'markup' in part ? part.markup : part.map(markupOf).join('')
  return String(part).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
