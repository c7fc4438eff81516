/** The kinds of things that have events. `runtime.*` means all types of a kind. */
export const eventKinds = [
  'runtime',
  'snapshot',
  'template',
  'build',
  'policy',
  'secret',
  'secret_key',
  'provider',
  'key',
  'project',
  'webhook',
] as const
