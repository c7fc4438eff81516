import type { CommandOutline } from '../../packages/cli/src/outline/outline-of.ts'
import { verbOutlines } from '../../packages/cli/src/verb-outlines.ts'
import type { ReleaseFacts } from './facts.ts'

/**
 * Returns the manual page of `holt` in the format of man(7), made from the same outlines as the
 * help.
 */
export function manualPage({ version, epochSecs }: Pick<ReleaseFacts, 'version' | 'epochSecs'>): string {
  const date = new Date(epochSecs * 1000).toISOString().slice(0, 10)
  const groups = [...new Set(verbOutlines.map(({ group }) => group))]
  return [
    `.TH HOLT 1 "${date}" "holt ${version}" "Holt"`,
    '.SH NAME',
    'holt, holtd \\- run untrusted code for AI agents on your own machine',
    '.SH SYNOPSIS',
    '.B holt\n.I command\n[options]\n.br\n.B holtd serve',
    '.SH DESCRIPTION',
    text('Holt boots runtimes (sandboxes) from templates, runs commands and moves files inside them, and'),
    text('lets them reach only the hosts that you name. It is a service on this machine.'),
    '.B holt up',
    'starts it, and is the first command to type.',
    '.B holtd',
    'is the program of the service, which systemd runs as the unit holtd.service.',
    '.PP',
    '.B holt\n.I command\n.B \\-\\-help',
    'shows examples.',
    '.SH COMMANDS',
    ...groups.flatMap((group) => [
      `.SS ${text(group.replace(/:$/, ''))}`,
      ...verbOutlines.filter((outline) => outline.group === group).flatMap((outline) => describe(outline, ['holt'])),
    ]),
    '.SH FILES',
    '.TP\n.I /var/lib/holt',
    'the state: runtimes, templates, keys, and the log of holt up (holtd.log)',
    '.TP\n.I /etc/holt/holtd.env',
    'the settings of holtd.service',
    '.SH SEE ALSO',
    text('The documentation and the examples: /usr/share/doc/holt/README.md'),
    '',
  ].join('\n')
}

/** Describes a command with its options, or else each of its subcommands. */
function describe(outline: CommandOutline, before: readonly string[]): readonly string[] {
  const words = [...before, outline.name]
  if (outline.commands.length > 0) return outline.commands.flatMap((one) => describe(one, words))
  const operands = outline.arguments.map((argument) => ` ${text(argument.text)}`).join('')
  const options = outline.options.flatMap((option) => [
    '.TP',
    `.B ${text(option.flags)}`,
    text(`${option.description}${option.choices === undefined ? '' : ` (${option.choices.join(', ')})`}`),
  ])
  return [
    '.TP',
    `\\fB${text(words.join(' '))}\\fR${operands}`,
    text(outline.description),
    ...(options.length === 0 ? [] : ['.RS', ...options, '.RE']),
  ]
}

/** Returns a text as one line in the format of man(7), with special characters escaped. */
function text(plain: string): string {
  const line = plain.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return /^[.']/.test(line) ? `\\&${line}` : line
}
