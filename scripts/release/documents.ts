/** The pages of a release that a reader begins with, by their paths in the repository. */
export const documents: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'LIMITATIONS.md',
  'SECURITY.md',
  'docs',
  'examples',
]

/** The targets of links in `documents`. Their own links may lead to files that only a clone has. */
export const linkedDocuments: readonly string[] = [
  'CONTRIBUTING.md',
  'LICENSE',
  'bench/README.md',
  'guest/PROTOCOL.md',
  'packages/sdk/README.md',
  'packages/server/README.md',
  'packages/testkit/README.md',
  'scripts/faults/faults.ts',
  'site/README.md',
  'templates/agents',
  'templates/code-interpreter',
  'templates/desktop',
]
