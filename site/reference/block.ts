import type { Html } from '../api/html.ts'

/**
 * Returns a piece of HTML as one block of Markdown. Markdown ends a block of HTML at an empty line,
 * so there is none inside. `v-pre` keeps VitePress from reading templates in it.
 */
export function block(name: string, { markup }: Html): string {
  return `<div class="${name}" v-pre>\n${markup.replaceAll(/\n\s*\n/g, '\n').trim()}\n</div>\n`
}
