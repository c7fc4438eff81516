import { setTimeout as sleep } from 'node:timers/promises'
import type { Runtime } from '@holt/sdk'
import { CheckpointFile } from '../support/floors/checkpoint-file.ts'
import { measuredFloor, msOf } from '../support/floors/subjects.ts'
import type { RawRunner } from '../support/raw-runner.ts'
import { compare, floorOf, onFloor, type SeriesReport, seriesReports, type Verdict } from '../support/report.ts'
import type { Stage } from '../support/stage.ts'
import { type Operation, reasonOf, type Subject, timed } from '../support/subject.ts'
import { gapFile, heapProgram } from './heap-program.ts'
import { type Row, withoutPool } from './row.ts'

const heapsMiB = [16, 64, 256] as const
const children = 5
const budgetSecs = 60
const leastRounds = 3
const gapTimeoutMs = 60_000
/** The time in which the program runs again and writes its pause, in milliseconds. */
const noticedMs = 250

/** B8: the cost of a checkpoint, a resume and a fork. */
export const b8: Row = {
  id: 'B8',
  title: 'memory snapshot, pause, resume and fork of 5, class gvisor, by the SDK over HTTP with a key',
  environment: withoutPool,
  measure: async (stage, options) => {
    await using raw = await stage.openRawRunner('gvisor')
    await using bare = await stage.openBareRunner()
    for (const id of bareIds) await bare.writeBundle(id, ['/bin/sleep', '3600'])
    const length = { rounds: options.rounds, budgetMs: 1000 * (options.budgetSecs ?? budgetSecs), leastRounds }
    const series: SeriesReport[] = []
    for (const heap of heapsMiB) {
      await using runtime = await stage.holt.runtimes.create({}, { signal: stage.signal })
      await runtime.commands.start([...heapProgram(heap)])
      await untilItTicks(runtime, stage.signal)
      await startRaw(raw, heap)
      await raw.checkpoint('heap', 'floor', { leaveRunning: true })
      await using file = await CheckpointFile.open(await raw.checkpointBytes('floor'))
      await raw.dropCheckpoint('floor')
      const subjects = [
        holtSubject(stage, runtime, heap),
        rawSubject(stage, raw, heap),
        ...floorSubjects(stage, { bare, file, heap }),
      ]
      series.push(...seriesReports(await stage.batch(`checkpoints, ${heap} MiB`, subjects, length)))
      await raw.remove('heap')
    }
    return {
      series,
      verdicts: heapsMiB.flatMap((heap) => verdictsOf(series, heap)),
      absent: [],
      notes: [
        `The heap is random bytes in one process of perl, which looks at the clock every 5 ms: that it stood still is what it says itself.`,
        'Holt answers a snapshot, a pause and a fork when what was written is durable and has its digest, and a resume when its guest is bound; `runsc` syncs nothing and answers when the kernel inside goes on.',
        `A raw fork is one checkpoint that goes on and ${children} restores at once.`,
        `A batch ends after ${options.budgetSecs ?? budgetSecs} s (at least ${leastRounds} rounds). Reading the gap, and removing what a round has made, is not timed.`,
      ],
    }
  },
}

const name = (what: string, heap: number) => `${what}, ${heap} MiB`

function verdictsOf(series: readonly SeriesReport[], heap: number): readonly Verdict[] {
  const bounds = [
    ['snapshot', 'runsc checkpoint', 1.3, 'durable'],
    ['source stands still', 'runsc checkpoint', 1.1, 'write'],
    [`fork of ${children}`, `runsc checkpoint + ${children} restores`, 1.3, 'fork'],
    ['pause', 'runsc checkpoint and end', 1.3, 'durable'],
    ['resume', 'runsc restore', 1.3, 'resume'],
  ] as const
  return bounds.map(([what, baseline, atMost, floor]) =>
    onFloor(
      compare(series, { what: name(what, heap), subject: name(what, heap), baseline: name(baseline, heap), atMost }),
      floorOf(series, name(floors[floor].name, heap), floors[floor].why),
    ),
  )
}

const floors = {
  durable: {
    name: 'checkpoint file, written and synced',
    why: 'the bytes of a checkpoint of the same program, written once and synced; a snapshot that is answered must survive a crash',
  },
  write: {
    name: 'checkpoint file, written',
    why: 'the same bytes, written to the page cache; memory must not change while it is copied',
  },
  fork: {
    name: `checkpoint file, written, and read by ${children} bare boots`,
    why: `the write, then ${children} bare boots and reads at once; each child needs a sandbox and the memory`,
  },
  resume: {
    name: 'checkpoint file, read by a bare boot',
    why: 'a bare boot, and the bytes read from the page cache; the runtime needs a sandbox and its memory',
  },
} as const

const bareIds = Array.from({ length: children }, (_, index) => `bare-${index}`)

function floorSubjects(
  stage: Stage,
  { bare, file, heap }: { readonly bare: RawRunner; readonly file: CheckpointFile; readonly heap: number },
): readonly Subject[] {
  const floor = (kind: keyof typeof floors, measure: () => Promise<number>) =>
    measuredFloor(stage, name(floors[kind].name, heap), measure)
  const boots = (ids: readonly string[]) =>
    msOf(() =>
      Promise.all(
        ids.map(async (id) => {
          await bare.createAndStart(id)
          await file.read()
        }),
      ),
    )
  const removed = (ids: readonly string[]) => async () => {
    await Promise.all(ids.map((id) => bare.remove(id)))
  }
  return [
    floor('durable', () => msOf(() => file.write({ sync: true }))),
    floor('write', () => msOf(() => file.write({ sync: false }))),
    {
      ...floor('fork', async () => (await msOf(() => file.write({ sync: false }))) + (await boots(bareIds))),
      tidy: removed(bareIds),
    },
    { ...floor('resume', () => boots(bareIds.slice(0, 1))), tidy: removed(bareIds.slice(0, 1)) },
  ]
}

function holtSubject(stage: Stage, runtime: Runtime, heap: number): Subject {
  const { signal } = stage
  const names = {
    snapshot: name('snapshot', heap),
    gap: name('source stands still', heap),
    fork: name(`fork of ${children}`, heap),
    pause: name('pause', heap),
    resume: name('resume', heap),
  }
  return {
    series: Object.values(names),
    perform: async () => {
      const made: (() => Promise<unknown>)[] = []
      await runtime.files.remove(gapFile, { signal })
      await untilItTicks(runtime, signal)
      const snapshot = await timed(names.snapshot, async () => {
        const { snapshot_id } = await runtime.snapshot({ kind: 'memory' }, { signal })
        made.push(() => stage.holt.snapshots.delete(snapshot_id, { signal }))
      })
      const gap: Operation = { series: names.gap, ...(await readGap(runtime, signal)) }
      const fork = await timed(names.fork, async () => {
        const results = await runtime.fork({ count: children }, { signal })
        for (const child of results.runtimes) made.push(() => child.delete({ signal }))
        for (const error of results.errors) throw error
      })
      await Promise.all(made.map((remove) => remove()))
      const pause = await timed(names.pause, () => runtime.pause({ signal }))
      const resume = await timed(names.resume, () => runtime.resume({ signal }))
      return [snapshot, gap, fork, pause, resume]
    },
    cpuMs: stage.holtCpuMs,
    background: false,
  }
}

async function readGap(runtime: Runtime, signal: AbortSignal): Promise<{ ms: number; error: string | null }> {
  try {
    await sleep(noticedMs, undefined, { signal })
    return { ms: 1000 * Number(await runtime.files.readText(gapFile, { signal })), error: null }
  } catch (error) {
    return { ms: 0, error: reasonOf(error) }
  }
}

/** Waits until the program has its heap and reads the clock. */
async function untilItTicks(runtime: Runtime, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + gapTimeoutMs
  for (;;) {
    if (await runtime.files.exists(gapFile, { signal })) return
    if (performance.now() > deadline) throw new Error('the program with the heap does not run')
    await sleep(20, undefined, { signal })
  }
}

const rawIds = ['heap', ...Array.from({ length: children }, (_, index) => `child-${index}`)]

async function startRaw(raw: RawRunner, heap: number): Promise<void> {
  for (const id of rawIds) await raw.writeBundle(id, heapProgram(heap))
  await raw.createAndStart('heap')
  await raw.untilPresent('heap', gapFile)
}

function rawSubject(stage: Stage, raw: RawRunner, heap: number): Subject {
  const names = {
    snapshot: name('runsc checkpoint', heap),
    fork: name(`runsc checkpoint + ${children} restores`, heap),
    pause: name('runsc checkpoint and end', heap),
    resume: name('runsc restore', heap),
  }
  const [source = '', ...copies] = rawIds
  return {
    series: Object.values(names),
    perform: async () => {
      const snapshot = await timed(names.snapshot, () => raw.checkpoint(source, 'snapshot', { leaveRunning: true }))
      const fork = await timed(names.fork, async () => {
        await raw.checkpoint(source, 'fork', { leaveRunning: true })
        await Promise.all(copies.map((id) => raw.restore(id, 'fork')))
      })
      // To remove a restored runtime takes runsc two seconds, and no processor.
      await Promise.all(copies.map((id) => raw.remove(id)))
      const pause = await timed(names.pause, () => raw.checkpoint(source, 'pause', { leaveRunning: false }))
      await raw.remove(source)
      const resume = await timed(names.resume, () => raw.restore(source, 'pause'))
      return [snapshot, fork, pause, resume]
    },
    cpuMs: stage.rawCpuMs,
    background: false,
  }
}
