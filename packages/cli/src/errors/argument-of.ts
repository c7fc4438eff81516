import type { Command } from 'commander'

/** The fields of the API that have another name as options. */
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

/** The fields that are the same option in every request. */
const known: ReadonlySet<string> = new Set(
  'timeout on-timeout idle-timeout no-auto-resume from-snapshot snapshot name cpu memory disk isolation'.split(' '),
)

/**
 * Returns the option or argument of a field of a request: `--name` for `/name`, `--quota runtimes`
 * for `/quotas/runtimes`. For `/url` it is `url` if the verb takes that as an argument. A field
 * without an option stays a JSON pointer.
 */
export function argumentOf(pointer: string, command?: Command): string {
  const parts = pointer
    .replace(/^\/(?:query|path)\//, '/')
    .split('/')
    .slice(1)
  for (const [at, part] of parts.entries()) {
    // An inline policy consists of other options than the one that names a stored policy.
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

/** Returns a part of a JSON pointer without its escapes (RFC 6901). */
function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
