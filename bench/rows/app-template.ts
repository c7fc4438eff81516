import { type Runtime, Template } from '@holt/sdk'
import { compare, type SeriesReport, type Verdict } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'

const templateName = 'bench-app'
const port = 8000
const server = `python -m http.server ${port} --directory /etc`
const fromTemplate = 'create to first answer, app template'
const byHand = 'create to first answer, started by hand'

/**
 * Returns two subjects: a runtime whose application already runs, and one in which it is started.
 * Both are timed until the first answer of the application.
 */
export async function appSubjects(stage: Stage): Promise<readonly Subject[]> {
  const template = Template(templateName)
    .fromTemplate('base-small')
    .startCmd(server)
    .readyCmd(`curl -fsS localhost:${port}/hostname`)
  await template.buildAndWait({ holt: stage.holt, signal: stage.signal })
  return [
    subject(stage, fromTemplate, { template: templateName }, async () => {}),
    subject(stage, byHand, {}, async (runtime) => {
      await runtime.commands.start(server, { signal: stage.signal })
      await runtime.ports.get(port, { wait_secs: 60, signal: stage.signal })
    }),
  ]
}

/** Returns the verdict on the time that the template saves. */
export function appVerdict(series: readonly SeriesReport[]): Verdict {
  return compare(series, { what: fromTemplate, subject: fromTemplate, baseline: byHand, atMost: 1 })
}

/** Removes the template, if it exists. */
export async function removeAppTemplate({ holt }: Stage): Promise<void> {
  await holt.templates.delete(templateName).catch(() => undefined) // It was never built.
}

function subject(
  stage: Stage,
  series: string,
  body: { readonly template?: string },
  start: (runtime: Runtime) => Promise<void>,
): Subject {
  let runtime: Runtime | null = null
  return {
    series: [series],
    perform: async () => [
      await timed(series, async () => {
        runtime = await stage.holt.runtimes.create({ ...body, isolation: 'gvisor' }, { signal: stage.signal })
        await start(runtime)
        const answer = await runtime.ports.fetch(port, '/hostname')
        if (!answer.ok) throw new Error(`the first answer was ${answer.status}`)
        await answer.text()
      }),
    ],
    tidy: async () => {
      await runtime?.delete()
      runtime = null
    },
    cpuMs: stage.holtCpuMs,
    // Two subjects share the daemon, so only CPU time within their own rounds can be attributed.
    background: false,
  }
}
