import type { Scope } from '@holt/sdk'

/** The scopes of keys, with what each opens. */
export const keyScopes: Readonly<Record<Scope, string>> = {
  'runtime:read': 'see runtimes, their files and output',
  'runtime:write': 'make runtimes and run programs in them',
  'template:read': 'see templates',
  'template:write': 'build templates',
  'policy:read': 'see network policies',
  'policy:write': 'change network policies',
  'secret:read': 'see the names of secrets',
  'secret:write': 'store secrets',
  'event:read': 'see events',
  'webhook:read': 'see webhooks',
  'webhook:write': 'change webhooks',
  admin: 'everything in the project, its keys too',
  operator: 'the whole installation',
}

/** The scopes of a new key, unless a person changes them. */
export const usualScopes: readonly Scope[] = [
  'runtime:read',
  'runtime:write',
  'template:read',
  'policy:read',
  'secret:read',
  'event:read',
]
