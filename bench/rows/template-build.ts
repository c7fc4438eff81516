import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuildHandle, Template } from '@holt/sdk'
import { Buildah } from '../support/buildah.ts'
import { compare, type Findings, medianWithin, type SeriesReport, seriesReports } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { appSubjects, appVerdict, removeAppTemplate } from './app-template.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const budgetSecs = 60
const leastRounds = 3
const baseName = 'localhost/holt-bench-base'
const templateName = 'bench-build'

/** Some files, some work, and a last step that an argument changes. */
const dockerfileFrom = (base: string) => `FROM ${base}
USER root
RUN mkdir -p /srv/bench && seq 1 200000 > /srv/bench/numbers
COPY files /srv/bench/files
RUN sort -r /srv/bench/numbers > /srv/bench/sorted && cat /srv/bench/files/* | sha256sum > /srv/bench/digest
ARG ROUND=none
RUN echo "$ROUND" > /srv/bench/round
`

/** What of a build is left to do. */
type Kind = 'all cached' | 'one step changed' | 'from scratch'
const kinds: readonly Kind[] = ['all cached', 'one step changed', 'from scratch']

/** How many steps of the Dockerfile each of them runs. */
const stepsRun: Readonly<Record<Kind, number>> = { 'all cached': 0, 'one step changed': 1, 'from scratch': 4 }

/** B9: what a template costs to build, and what it saves. */
export const b9: Row = {
  id: 'B9',
  title: 'build of a template by the SDK over HTTP with a key, and the first answer of an application that is in one',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using place = await makePlace()
    const buildah = await Buildah.open(stage.signal)
    try {
      if (buildah !== null) await importBase(stage, buildah)
      const builds = await buildsOf(stage, options, { place: place.dir, buildah })
      const application = seriesReports(
        await stage.batch('an application', await appSubjects(stage), lengthOf(options)),
      )
      return findingsOf([...builds, ...application], buildah !== null)
    } finally {
      await buildah?.[Symbol.asyncDispose]()
      await removeAppTemplate(stage)
      await stage.holt.templates.delete(templateName).catch(() => undefined) // It was never built.
    }
  },
}

async function buildsOf(
  stage: Stage,
  options: RowOptions,
  { place, buildah }: { readonly place: string; readonly buildah: Buildah | null },
): Promise<readonly SeriesReport[]> {
  const series: SeriesReport[] = []
  for (const kind of kinds) {
    const subjects = [
      holtSubject(stage, kind, place),
      ...(buildah === null ? [] : [buildahSubject(stage, { kind, place, buildah })]),
    ]
    // What is cached has to be there, whatever an earlier bench has left.
    if (kind === 'all cached') for (const subject of subjects) await subject.perform(-1)
    series.push(...seriesReports(await stage.batch(`build, ${kind}`, subjects, lengthOf(options))))
  }
  return series
}

function lengthOf({ rounds, budgetSecs: secs }: RowOptions) {
  return { rounds, budgetMs: (secs ?? budgetSecs) * 1000, leastRounds }
}

function findingsOf(series: readonly SeriesReport[], hasBuildah: boolean): Findings {
  const against = (kind: Kind, atMost: number | null) =>
    compare(series, { what: `build, ${kind}`, subject: `build, ${kind}`, baseline: `buildah, ${kind}`, atMost })
  return {
    series,
    verdicts: [
      medianWithin(series, { what: 'build, all cached', subject: 'build, all cached', ms: 150 }),
      ...(hasBuildah
        ? [against('all cached', null), against('one step changed', null), against('from scratch', 1.2)]
        : []),
      appVerdict(series),
    ],
    absent: hasBuildah ? [] : ['buildah: it is not installed'],
    notes: [
      'Both build the same Dockerfile, of three steps that run and one that copies, on the tree of base-small. Holt sends the context each time, runs steps in gVisor, and ends with an image and a checkpoint; buildah runs them in a chroot on the host and ends with layers.',
      'A round of Holt fails where another number of steps ran than have to: 0 where all is cached, 1 where one has changed.',
      'The first answer is that of a server in Python, by the port, without a retry.',
    ],
  }
}

async function makePlace(): Promise<AsyncDisposable & { readonly dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-bench-build-'))
  await mkdir(join(dir, 'context/files'), { recursive: true })
  for (let i = 0; i < 50; i += 1) await writeFile(join(dir, 'context/files', `${i}.txt`), `${i}\n`.repeat(1000))
  await writeFile(join(dir, 'holt.Dockerfile'), dockerfileFrom('holt/base-small'))
  await writeFile(join(dir, 'buildah.Dockerfile'), dockerfileFrom(baseName))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

/** Gives buildah the tree that Holt's template has. */
async function importBase(stage: Stage, buildah: Buildah): Promise<void> {
  await using raw = await stage.openRawRunner('container')
  stage.say('giving buildah the tree of base-small')
  await buildah.importTree(raw.place.rootfs, baseName)
}

function argsOf(kind: Kind, round: number): Readonly<Record<string, string>> {
  return kind === 'one step changed' ? { ROUND: `${round} of ${process.pid}` } : {}
}

function holtSubject(stage: Stage, kind: Kind, place: string): Subject {
  const series = `build, ${kind}`
  return {
    series: [series],
    perform: async (round) => [
      await timed(series, async () => {
        const source = { context: join(place, 'context') }
        let template = Template(templateName).fromDockerfile(join(place, 'holt.Dockerfile'), source)
        for (const [name, value] of Object.entries(argsOf(kind, round))) template = template.buildArg(name, value)
        if (kind === 'from scratch') template = template.noCache()
        const built = await template.buildAndWait({ holt: stage.holt, signal: stage.signal })
        if (round >= 0) requireSteps(built, kind) // Before the first round the cache is filled.
      }),
    ],
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

function requireSteps({ steps }: BuildHandle, kind: Kind): void {
  const ran = steps.filter(({ text, state }) => /^(RUN|COPY) /.test(text) && state === 'done')
  if (ran.length !== stepsRun[kind])
    throw new Error(`${ran.length} steps ran: ${ran.map(({ text }) => text).join(', ')}`)
}

function buildahSubject(
  stage: Stage,
  { kind, place, buildah }: { readonly kind: Kind; readonly place: string; readonly buildah: Buildah },
): Subject {
  const series = `buildah, ${kind}`
  const what = { dockerfile: join(place, 'buildah.Dockerfile'), context: join(place, 'context') }
  return {
    series: [series],
    perform: async (round) => [
      await timed(series, () =>
        buildah.build({ ...what, args: argsOf(kind, round), useCache: kind !== 'from scratch' }),
      ),
    ],
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}
