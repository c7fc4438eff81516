import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** An npm package or a Go module whose code is part of a release. */
export interface Part {
  readonly name: string
  readonly version: string
  /** Package URL (github.com/package-url/purl-spec). */
  readonly purl: string
  /** SPDX expression; null if the package states none. */
  readonly license: string | null
  /** The texts of its licence files. */
  readonly texts: readonly string[]
}

const packageDir = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

/**
 * Returns the npm packages with code in a bundle, sorted by name, from the bundle's `files.json`.
 */
export async function readBundledPackages(root: string, filesJson: string): Promise<readonly Part[]> {
  const files = JSON.parse(await readFile(filesJson, 'utf8')) as Record<string, { sources: readonly string[] }>
  const sources = Object.values(files).flatMap((file) => file.sources)
  const dirs = new Set(sources.flatMap((source) => packageDir.exec(source)?.[0] ?? []))
  const parts = new Map<string, Part>()
  for (const dir of dirs) {
    const part = await readPackage(join(root, dir))
    parts.set(part.purl, part)
  }
  return [...parts.values()].toSorted((one, other) => (one.purl < other.purl ? -1 : 1))
}

async function readPackage(dir: string): Promise<Part> {
  const { name, version, license } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'))
  return {
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    license: typeof license === 'string' ? license : null,
    texts: await readLicences(dir),
  }
}

/** Reads the licence files of a package's directory, in the order of their names. */
export async function readLicences(dir: string): Promise<readonly string[]> {
  if (!existsSync(dir)) return []
  const names = (await readdir(dir)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
  return Promise.all(names.toSorted().map((name) => readFile(join(dir, name), 'utf8')))
}
