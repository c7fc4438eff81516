import { fileURLToPath } from 'node:url'
import { type MethodCoverage, type PackageCoverage, statuses } from './coverage-data.ts'

/** The page with the table. */
export const pageFile = fileURLToPath(new URL('../../../docs/e2b-coverage.md', import.meta.url))

const head = `# Coverage of E2B's SDKs

For everybody who wants to know whether a call of E2B's SDKs works with Holt. [Moving from
E2B](e2b.md) says how to set up a program.

\`scripts/e2b/coverage\` writes this page from a run against a real service. Each row is a public
method of the pinned packages, and a program of the run has called it. *Works*: the program checked
the result. *Differs* and *absent*: the program checked what the last column says. A static method
of JavaScript is \`Class.method\`, and one of instances \`Class#method\`. \`Template\` is the class
\`TemplateBase\` there.
`

/** Returns the text of the page for the coverage of a run. */
export function pageOf(coverage: readonly PackageCoverage[]): string {
  return `${head}\n${[summaryOf(coverage), ...coverage.map(sectionOf)].join('\n')}`
}

function summaryOf(coverage: readonly PackageCoverage[]): string {
  const rows = coverage.map(({ language, name, version, methods }) => {
    const counts = statuses.map((status) => methods.filter((one) => one.status === status).length)
    return `| ${[`\`${name}\` ${version}`, language, ...counts].join(' | ')} |\n`
  })
  return `| package | language | works | differs | absent |\n|---|---|---|---|---|\n${rows.join('')}`
}

function sectionOf({ language, name, version, methods }: PackageCoverage): string {
  const rows = methods.map(rowOf).join('')
  return `## ${language}: \`${name}\` ${version}\n\n| method | result | how, or why |\n|---|---|---|\n${rows}`
}

function rowOf({ method, status, notes }: MethodCoverage): string {
  return `| \`${method}\` | ${status} | ${notes.join('; ')} |\n`
}
