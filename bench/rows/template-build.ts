import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuildHandle, Template } from '@holt/sdk'
import { Buildah } from '../support/buildah.ts'
import { floorSubject } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import {
  compare,
  type Findings,
  floorOf,
  medianWithin,
  onFloor,
  type SeriesReport,
  seriesReports,
} from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Subject, timed } from '../support/subject.ts'
import { appSubjects, appVerdict, removeAppTemplate } from './app-template.ts'
import { type Row, type RowOptions, withoutPool } from './row.ts'

const budgetSecs = 40
const leastRounds = 3
const baseName = 'localhost/holt-bench-base'
const templateName = 'bench-build'

/** Returns a Dockerfile with some files, some work, and a last step that depends on an argument. */
const dockerfileFrom = (base: string) => `FROM ${base}
USER root
RUN mkdir -p /srv/bench && seq 1 200000 > /srv/bench/numbers
COPY files /srv/bench/files
RUN sort -r /srv/bench/numbers > /srv/bench/sorted && cat /srv/bench/files/* | sha256sum > /srv/bench/digest
ARG ROUND=none
RUN echo "$ROUND" > /srv/bench/round
`

/** The work that is left for a build. */
type Kind = 'all cached' | 'one step changed' | 'from scratch'
const kinds: readonly Kind[] = ['all cached', 'one step changed', 'from scratch']

/** The number of Dockerfile steps that each kind runs. */
const stepsRun: Readonly<Record<Kind, number>> = { 'all cached': 0, 'one step changed': 1, 'from scratch': 4 }

/** B9: the cost of building a template, and the time that it saves. */
export const b9: Row = {
  id: 'B9',
  title: 'build of a template by the SDK over HTTP with a key, and the first answer of an application that is in one',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using place = await makePlace()
    await using bare = await stage.openBareRunner()
    for (const kind of kinds) await bare.writeBundle(bareId(kind), ['/bin/sh', '-c', stepsAlone[kind]])
    await bare.writeBundle('application', ['/bin/sleep', '3600'])
    const buildah = await Buildah.open(stage.signal)
    try {
      if (buildah !== null) await importBase(stage, buildah)
      const builds = await buildsOf(stage, options, { place: place.dir, buildah, bare })
      const application = seriesReports(
        await stage.batch('an application', [...(await appSubjects(stage)), appFloor(stage, bare)], lengthOf(options)),
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
  { place, buildah, bare }: { readonly place: string; readonly buildah: Buildah | null; readonly bare: RawRunner },
): Promise<readonly SeriesReport[]> {
  const series: SeriesReport[] = []
  for (const kind of kinds) {
    const subjects = [
      holtSubject(stage, kind, place),
      ...(buildah === null ? [] : [buildahSubject(stage, { kind, place, buildah })]),
      stepsFloor(stage, kind, bare),
    ]
    // The cache must be filled, regardless of an earlier bench.
    if (kind === 'all cached') for (const subject of subjects) await subject.perform(-1)
    series.push(...seriesReports(await stage.batch(`build, ${kind}`, subjects, lengthOf(options))))
  }
  return series
}

function lengthOf({ rounds, budgetSecs: secs }: RowOptions) {
  return { rounds, budgetMs: (secs ?? budgetSecs) * 1000, leastRounds }
}

function findingsOf(series: readonly SeriesReport[], hasBuildah: boolean): Findings {
  const floor = (kind: Kind) => floorOf(series, floorName(kind), floorReasons[kind])
  const against = (kind: Kind, atMost: number | null) =>
    onFloor(
      compare(series, { what: `build, ${kind}`, subject: `build, ${kind}`, baseline: `buildah, ${kind}`, atMost }),
      floor(kind),
    )
  return {
    series,
    verdicts: [
      onFloor(
        medianWithin(series, { what: 'build, all cached', subject: 'build, all cached', ms: 150 }),
        floor('all cached'),
      ),
      ...(hasBuildah
        ? [against('all cached', null), against('one step changed', 2), against('from scratch', 1.5)]
        : []),
      onFloor(appVerdict(series), floorOf(series, appFloorName, appFloorReason)),
    ],
    absent: hasBuildah ? [] : ['buildah: it is not installed'],
    notes: [
      'Both build the same Dockerfile, of three steps that run and one that copies, on the tree of base-small. Holt sends the context each time, runs steps in gVisor, and ends with an image; buildah runs them in a chroot on the host and ends with layers.',
      'A round of Holt fails where another number of steps ran than have to: 0 where all is cached, 1 where one has changed.',
      'The first answer is that of a server in Python, by the port, without a retry.',
    ],
  }
}

/** The steps that have to run, as one program. The COPY is left out, because it has few bytes. */
const stepsAlone: Readonly<Record<Kind, string>> = {
  'all cached': ':',
  'one step changed': 'echo "a round" > /srv/round',
  'from scratch':
    'mkdir -p /srv/bench && seq 1 200000 > /srv/bench/numbers && sort -r /srv/bench/numbers > /srv/bench/sorted && sha256sum < /srv/bench/sorted > /srv/bench/digest && echo none > /srv/bench/round',
}

const durable = 'a durable write with its HTTP answer'
const floorReasons: Readonly<Record<Kind, string>> = {
  'all cached': `${durable}; a build that is answered is in the store`,
  'one step changed': `${durable}, and \`runsc run\` of the step without mounts, gofer or disk; the step has to run`,
  'from scratch': `${durable}, and one \`runsc run\` of all steps without mounts, gofer or disk; they have to run`,
}
const appFloorName = 'bare boot and HTTP answer'
const appFloorReason =
  '`runsc create` and `start` of `sleep` without mounts, gofer or disk, and one HTTP answer; the application needs a sandbox'

const bareId = (kind: Kind) => kind.replaceAll(' ', '-')

function floorName(kind: Kind): string {
  return `steps alone, ${kind}`
}

function stepsFloor(stage: Stage, kind: Kind, bare: RawRunner): Subject {
  return floorSubject(stage, floorName(kind), async () => {
    await stage.plain.writeDurably(stage.signal)
    if (kind !== 'all cached') await bare.run(bareId(kind))
  })
}

function appFloor(stage: Stage, bare: RawRunner): Subject {
  return {
    ...floorSubject(stage, appFloorName, async () => {
      await bare.createAndStart('application')
      await stage.plain.get('/', stage.signal)
    }),
    tidy: () => bare.remove('application'),
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

/** Imports the tree of Holt's template into buildah. */
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
        if (round >= 0) requireSteps(built, kind) // The build before the first round fills the cache.
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
