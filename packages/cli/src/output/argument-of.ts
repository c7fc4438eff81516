import type { Command } from 'commander'

/** The fields of the API that options have another name for. */
const otherNames: Readonly<Record<string, string>> = {
  timeout_secs: 'timeout',
  idle_timeout_secs: 'idle-timeout',
  overlap_secs: 'overlap',
  auto_resume: 'no-auto-resume',
  expires_at: 'expires',
  types: 'type',
  scopes: 'scope',
  secrets: 'secret',
  hosts: 'host',
  quotas: 'quota',
  network_policy: 'network',
}

/** Fields that are the same option wherever they are. */
const known: ReadonlySet<string> = new Set(
  'timeout on-timeout idle-timeout no-auto-resume from-snapshot snapshot name cpu memory disk isolation'.split(' '),
)

/**
 * The option or argument that a field of a request comes from: `--name` for `/name`, `--quota
 * runtimes` for `/quotas/runtimes`, `url` for `/url` where the verb takes that as an argument. A
 * field that is none stays the JSON pointer that it is.
 */
export function argumentOf(pointer: string, command?: Command): string {
  const parts = pointer
    .replace(/^\/(?:query|path)\//, '/')
    .split('/')
    .slice(1)
  for (const [at, part] of parts.entries()) {
    // A policy that is written out is made of other options than the one that names a stored
    // policy.
    const found = part === 'network_policy' && at + 1 < parts.length ? null : nameOf(part, command)
    const rest = parts.slice(at + 1).filter((one) => !/^\d+$/.test(one))
    if (found !== null) return [found, ...rest.map(unescaped)].join(' ')
  }
  return pointer || 'the body'
}

function nameOf(field: string, command: Command | undefined): string | null {
  const option = otherNames[field] ?? field.replaceAll('_', '-')
  const long = `--${option}`
  if (command === undefined) return known.has(option) ? long : null
  if (command.options.some((one) => one.long === long)) return long
  const argument = field.replace(/_id$/, '')
  return command.registeredArguments.some((one) => one.name() === argument) ? argument : null
}

/** A part of a JSON pointer as it was (RFC 6901). */
function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
