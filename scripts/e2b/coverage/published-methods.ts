import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { clientSets, publishedClients } from '@holt/testkit'
import type { PackageCoverage } from './coverage-data.ts'
import { javascriptMethods } from './javascript-methods.ts'

const reflection = fileURLToPath(new URL('python/public_methods.py', import.meta.url))

/** The set of packages of each language whose methods are covered. */
export const coveredSets = { JavaScript: 'javascript-newest', Python: 'python-newest' } as const

/** A covered package, with the names of its public methods, sorted. */
export interface PublishedPackage extends Omit<PackageCoverage, 'methods'> {
  readonly methods: readonly string[]
}

/** Reads the public methods of the pinned packages, which are installed if they are not yet. */
export async function publishedMethods(): Promise<readonly PublishedPackage[]> {
  const [javascript, python] = await Promise.all(Object.values(coveredSets).map((name) => publishedClients(name)))
  const { stdout } = await promisify(execFile)(join(python ?? '', 'bin/python'), [reflection])
  const ofPython = Object.entries(JSON.parse(stdout) as Record<string, readonly string[]>)
  return [
    ...['e2b', '@e2b/code-interpreter'].map((name) => ({
      ...facts('JavaScript', name),
      methods: javascriptMethods(javascript ?? '', name),
    })),
    ...ofPython.map(([module, methods]) => ({ ...facts('Python', module.replaceAll('_', '-')), methods })),
  ]
}

function facts(language: PackageCoverage['language'], name: string) {
  const set = clientSets.find((one) => one.name === coveredSets[language])
  return { name, language, version: set?.packages[name] ?? '' } as const
}
