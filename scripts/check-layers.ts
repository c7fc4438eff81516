import { globSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/**
 * The allowed dependencies between packages, as ARCHITECTURE.md draws them. Biome's
 * `noUndeclaredDependencies` ensures that a package imports only dependencies in its package.json.
 * So it is enough to compare these with this table.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  streams: [],
  erofs: [],
  engine: ['protocol', 'streams'],
  'engine-host': ['engine', 'erofs', 'protocol', 'streams'],
  builder: ['engine', 'erofs', 'protocol', 'streams'],
  egress: ['protocol', 'streams'],
  server: ['builder', 'egress', 'engine', 'engine-host', 'protocol', 'streams'],
  sdk: ['protocol'],
  cli: ['protocol', 'sdk'],
  testkit: [],
}

/** The external packages that a contract package may use. It has to run anywhere. */
const outside: Readonly<Record<string, readonly string[]>> = { protocol: ['zod'], sdk: [] }

const root = new URL('..', import.meta.url).pathname
const problems = globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
  const name = basename(dirname(file))
  const { dependencies = {} } = JSON.parse(readFileSync(`${root}/${file}`, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  const legal = arrows[name]
  if (legal === undefined) return [`${file}: the package has no place in scripts/check-layers.ts`]
  return Object.keys(dependencies).flatMap((dependency) => {
    if (dependency.startsWith('@holt/'))
      return legal.includes(dependency.slice('@holt/'.length)) ? [] : [`${file}: ${name} may not see ${dependency}`]
    return outside[name]?.includes(dependency) === false ? [`${file}: ${name} may not use ${dependency}`] : []
  })
})

for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
