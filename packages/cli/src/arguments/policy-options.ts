import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { presetNames } from '@holt/protocol'
import type { PolicyBodyInput } from '@holt/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../verb/verb.ts'

type Rule = NonNullable<PolicyBodyInput['allow']>[number]

/** The options for allowed destinations. */
export interface PolicyOptions {
  readonly allow?: readonly Rule[]
  readonly include?: NonNullable<PolicyBodyInput['include']>
  readonly allowAllHosts?: boolean
  readonly deny?: readonly string[]
}

/** The fields of the contract, for errors about files. */
export const ruleFields = [
  'host',
  'ports',
  'all_ports',
  'protocol',
  'methods',
  'paths',
] as const satisfies readonly (keyof Rule)[]
export const policyFields = ['name', 'allow', 'include', 'allow_all_hosts', 'deny'] as const

/** Adds the options of an inline policy. */
export function addPolicyOptions(command: Command): Command {
  return command
    .option(
      '--allow <host[:port]>',
      'a reachable host, *.host or network (default port: 443; `*`: every port); repeatable',
      allowed,
    )
    .addOption(new Option('--include <preset>', 'a preset group of hosts; repeatable').argParser(preset))
    .option('--allow-all-hosts', 'with --allow "*": every public host, never a private address')
    .option('--deny <network>', 'a network or address that no rule reaches; repeatable', denied)
}

/** Returns the inline policy of the options; null if there is none. */
export function policyOf({ allow, include, allowAllHosts, deny }: PolicyOptions): PolicyBodyInput | null {
  if (allow === undefined && include === undefined && allowAllHosts === undefined && deny === undefined) return null
  return {
    allow: [...(allow ?? [])],
    include: [...(include ?? [])],
    ...(allowAllHosts === true ? { allow_all_hosts: true } : {}),
    ...(deny === undefined ? {} : { deny: [...deny] }),
  }
}

/** Reads a policy from a file of JSON (`-`: stdin), and adds the options to it. */
export async function policyFrom(file: string | undefined, options: PolicyOptions): Promise<PolicyBodyInput> {
  const written = policyOf(options)
  if (file === undefined) {
    if (written === null) throw new UsageError('Give the reachable hosts: --allow HOST, --include PRESET or -f FILE')
    return written
  }
  const { name: _, ...body } = parse(file === '-' ? await textOf(process.stdin) : await readFile(file, 'utf8'), file)
  return {
    ...body,
    allow: [...(body.allow ?? []), ...(written?.allow ?? [])],
    include: [...new Set([...(body.include ?? []), ...(written?.include ?? [])])],
    ...(written?.allow_all_hosts === true ? { allow_all_hosts: true } : {}),
    ...(written?.deny === undefined ? {} : { deny: [...new Set([...(body.deny ?? []), ...written.deny])] }),
  }
}

/** Reads `HOST`, `HOST:PORT`, `HOST:PORT,PORT` or `HOST:*`. The service checks the host. */
export function hostAndPorts(text: string): Rule {
  const match = /^([^:]+|\[[0-9a-f:/.]+\])(?::(\*|\d{1,5}(?:,\d{1,5})*))?$/i.exec(text)
  if (match?.[1] === undefined) throw new InvalidArgumentError('It must be HOST or HOST:PORT.')
  const host = match[1].replace(/^\[|\]$/g, '')
  if (match[2] === '*') return { host, all_ports: true }
  return match[2] === undefined ? { host } : { host, ports: match[2].split(',').map(Number) }
}

function allowed(text: string, before: readonly Rule[] = []): Rule[] {
  return [...before, hostAndPorts(text)]
}

/** Writes a single address as a network. */
function denied(text: string, before: readonly string[] = []): string[] {
  const length = isIP(text) === 6 ? 128 : 32
  return [...before, isIP(text) === 0 ? text : `${text}/${length}`]
}

function preset(text: string, before: readonly string[] = []): string[] {
  if (!(presetNames as readonly string[]).includes(text))
    throw new InvalidArgumentError(`Allowed choices are ${presetNames.join(', ')}.`)
  return [...before, text]
}

function parse(text: string, file: string): PolicyBodyInput & { readonly name?: unknown } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${file} must hold an object: {"allow": [{"host": "api.example.com"}], "include": ["npm"]}`)
  refuseUnknown(value, { file, of: 'A policy', fields: policyFields })
  const { allow } = value as { readonly allow?: unknown }
  for (const rule of Array.isArray(allow) ? allow : [])
    if (typeof rule === 'object' && rule !== null) refuseUnknown(rule, { file, of: 'A rule', fields: ruleFields })
  return value
}

/** Throws if a part of a file has a field that does not exist, and names those that do. */
function refuseUnknown(
  part: object,
  { file, of, fields }: { readonly file: string; readonly of: string; readonly fields: readonly string[] },
): void {
  const unknown = Object.keys(part).find((field) => !fields.includes(field))
  if (unknown === undefined) return
  throw new UsageError(`${file}: ${of} has no field ${unknown}. Its fields: ${fields.join(', ')}`)
}
