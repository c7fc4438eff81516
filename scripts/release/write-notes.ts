import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReleaseFacts } from './facts.ts'
import type { Components } from './make-tree.ts'

/** The name of the release notes. */
export const notesName = 'RELEASE-NOTES.md'

/**
 * Writes the release notes: how to install, the versions of the components, and the part of
 * CHANGELOG.md.
 */
export async function writeNotes(
  outDir: string,
  { facts, components, artifacts }: { facts: ReleaseFacts; components: Components; artifacts: readonly string[] },
): Promise<void> {
  const changes = changesOf(await readFile(join(facts.root, 'CHANGELOG.md'), 'utf8'), facts.version)
  const { node, npm, runsc } = components
  const lines = [
    `# Holt ${facts.version}`,
    '',
    'Install it on Debian 12, Debian 13 or Ubuntu 24.04, as root:',
    '',
    '```sh',
    'sha256sum --check --ignore-missing SHA256SUMS',
    `tar xf holt-${facts.version}-linux-x64.tar.gz && holt-${facts.version}-linux-x64/install.sh`,
    'holt up',
    '```',
    '',
    `The Debian package is another way: \`apt install ./holt_${facts.version}_amd64.deb\`. For a project in`,
    `TypeScript, install both npm packages: \`npm install ./holt-protocol-${facts.version}.tgz ./holt-sdk-${facts.version}.tgz\`.`,
    '',
    `It contains Node ${node}, npm ${npm} and runsc ${runsc} (gVisor); the files \`*.cdx.json\` list every`,
    `part (CycloneDX). It was made from commit ${facts.commit}.`,
    '',
    ...artifacts.map((name) => `* \`${name}\``),
    '',
    '## Changes',
    '',
    changes,
    '',
  ]
  await writeFile(join(outDir, notesName), lines.join('\n'))
}

/** Returns the changes of a version, or of the unreleased one. Throws if both are missing. */
export function changesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1)
  const names = [`${version} `, `${version}\n`, 'Unreleased', '[Unreleased]']
  const found = names.flatMap((name) => sections.filter((section) => section.startsWith(name)))[0]
  if (found === undefined) throw new Error(`CHANGELOG.md has no section for ${version}`)
  return found.slice(found.indexOf('\n')).trim()
}
