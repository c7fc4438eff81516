import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { Part } from './bundled-packages.ts'
import type { Arch, ReleaseFacts } from './facts.ts'
import type { Components } from './make-tree.ts'

interface SbomInput {
  readonly facts: ReleaseFacts
  readonly arch: Arch
  readonly components: Components
  /** The Debian packages of a container image. */
  readonly debian?: readonly Part[]
}

/**
 * Writes the software bill of materials of a release directory or a container image, as CycloneDX
 * 1.6 in JSON (cyclonedx.org).
 */
export async function writeSbom(path: string, input: SbomInput): Promise<void> {
  await writeFile(path, `${JSON.stringify(sbomOf(input), null, 2)}\n`)
}

function sbomOf({ facts, arch, components, debian = [] }: SbomInput) {
  const { version, commit, epochSecs } = facts
  const holt = {
    type: 'application',
    'bom-ref': `holt@${version}`,
    name: 'holt',
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    properties: [
      { name: 'holt:commit', value: commit },
      { name: 'holt:arch', value: arch },
    ],
  }
  const shipped = [
    programOf('node', components.node, { purl: `pkg:npm/node-linux-${arch}@${components.node}`, license: 'MIT' }),
    programOf('npm', components.npm, { purl: `pkg:npm/npm@${components.npm}`, license: 'Artistic-2.0' }),
    programOf('runsc', components.runsc, { purl: `pkg:generic/runsc@${components.runsc}`, license: 'Apache-2.0' }),
    ...[...components.bundled, ...components.modules, ...debian].map(libraryOf),
  ]
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(`holt ${version} ${commit} ${arch}${debian.map(({ purl }) => ` ${purl}`).join('')}`)}`,
    version: 1,
    metadata: { timestamp: new Date(epochSecs * 1000).toISOString(), component: holt },
    components: shipped,
    dependencies: [{ ref: holt['bom-ref'], dependsOn: shipped.map((one) => one['bom-ref']) }],
  }
}

function programOf(name: string, version: string, { purl, license }: { purl: string; license: string }) {
  return { type: 'application', 'bom-ref': purl, name, version, purl, licenses: [{ license: { id: license } }] }
}

function libraryOf({ name, version, purl, license }: Part) {
  const licenses = license === null ? {} : { licenses: [{ expression: license }] }
  return { type: 'library', 'bom-ref': purl, name, version, purl, ...licenses }
}

/** Returns the same UUID for the same text: version 8 of RFC 9562, from its SHA-256. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
