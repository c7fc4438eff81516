import type { CommandOutline } from '../../packages/cli/src/outline/outline-of.ts'
import { verbOutlines } from '../../packages/cli/src/verb-outlines.ts'
import { type Html, html } from '../api/html.ts'
import { block } from './block.ts'

/**
 * Returns the page about `holt` and `holtd`. It is made from the outlines of the commands, as the
 * help of `holt` is, and from the help of `holtd`.
 */
export function cliPage(holtdHelp: string, outlines: readonly CommandOutline[] = verbOutlines): string {
  const groups = [...new Set(outlines.map(({ group }) => group))]
  return `# The command

\`holt\` prints this reference as help: \`holt --help\` lists the commands, and \`holt COMMAND --help\` shows
options and examples. \`source <(holt completion bash)\` completes words in a shell.

${groups
  .flatMap((group) => outlines.filter((outline) => outline.group === group))
  .map((outline) => sectionOf(outline, ['holt'], '##'))
  .join('\n')}
## holtd

The program of the service. \`holt up\` starts it, or systemd as the unit \`holtd.service\`.

${block('cli', html`<pre><code>${holtdHelp.trim().replaceAll(/\n\n+/g, '\n')}</code></pre>`)}`
}

/** Returns the section of a command, and below it those of its subcommands. */
function sectionOf(outline: CommandOutline, before: readonly string[], level: '##' | '###' | '####'): string {
  const words = [...before, outline.name]
  const below = level === '##' ? '###' : '####'
  return `${level} ${words.join(' ')}

${block('cli', about(outline, words))}
${outline.commands.map((one) => sectionOf(one, words, below)).join('\n')}`
}

function about(outline: CommandOutline, words: readonly string[]): Html {
  const { options, arguments: operands, description, commands, after } = outline
  const usage = [
    ...words,
    ...(commands.length > 0 ? ['COMMAND'] : []),
    ...(options.length > 0 ? ['[options]'] : []),
    ...operands.map(({ text }) => text),
  ]
  return html`<p>${sentence(description)}</p>
<pre><code>${usage.join(' ')}</code></pre>
${fields(operands.map((operand) => ({ ...operand, name: operand.text })))}
${fields(options.map((option) => ({ ...option, name: option.flags })))}
${after.trim() === '' ? null : html`<pre><code>${after.trim().replaceAll(/\n\n+/g, '\n')}</code></pre>`}`
}

interface Field {
  readonly name: string
  readonly description: string
  readonly choices?: readonly string[]
  readonly default?: unknown
}

function fields(list: readonly Field[]): Html | null {
  if (list.length === 0) return null
  return html`<dl class="fields">${list.map(
    ({ name, description, choices, default: value }) => html`
<dt><code>${name}</code></dt>
<dd>${description}${choices === undefined ? null : html` (${choices.join(', ')})`}${
      value === undefined ? null : html` (default: ${JSON.stringify(value)})`
    }</dd>`,
  )}</dl>`
}

/** Returns a description as a sentence: the help has it in lower case and without a full stop. */
function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}
