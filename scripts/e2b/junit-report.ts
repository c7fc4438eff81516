/** The outcome of one example. */
export interface Outcome {
  readonly run: string
  readonly seconds: number
  readonly failure: string | null
  /** The reason for a run that did not take place. */
  readonly skipped: string | null
}

/** Returns a report in the form of JUnit. */
export function junitOf(all: readonly Outcome[]): string {
  const escaped = (text: string) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('"', '&quot;')
      .replaceAll(/[^\t\n\u0020-\ud7ff]/g, '?')
  const cases = all.map(({ run, seconds, failure, skipped }) => {
    const inside =
      failure !== null
        ? `<failure message="failed">${escaped(failure)}</failure>`
        : skipped !== null
          ? `<skipped message="${escaped(skipped)}"/>`
          : ''
    return `<testcase classname="examples/e2b" name="${escaped(run)}" time="${seconds.toFixed(3)}">${inside}</testcase>`
  })
  const failures = all.filter(({ failure }) => failure !== null).length
  const skips = all.filter(({ skipped }) => skipped !== null).length
  return `<testsuites><testsuite name="e2b" tests="${all.length}" failures="${failures}" errors="0" skipped="${skips}">${cases.join('')}</testsuite></testsuites>\n`
}
