import { stat } from 'node:fs/promises'
import type { Ignored } from '@holt/protocol'
import { openContext } from '../context/open-context.ts'
import type { BuildHost, BuildRequest, BuildResult, PullOptions, RunBuild } from '../contract/build-contract.ts'
import type { BuildPlan } from '../dockerfile/plan.ts'
import { BuildError } from '../errors.ts'
import { Redactor } from '../output/redact.ts'
import { BuildSources } from './build-sources.ts'
import { checkBase, checkFinished } from './disk-check.ts'
import { finalUser } from './final-settings.ts'
import { type Finished, findFinished, resultKey, startFinished } from './finish-build.ts'
import { makePlan } from './make-plan.ts'
import { readsContext, sizedMounts } from './plan-facts.ts'
import { pullLogin } from './pull-login.ts'
import { readSmallFile } from './read-small-file.ts'
import { redactedError, redactingHost } from './redacting-host.ts'
import { type FoundBase, findBases, listSteps, resolveStages, type StageSteps } from './resolve-stages.ts'
import { runStages, type StagesContext } from './run-stages.ts'
import { plannedKeys, skippedKeys } from './skipped-keys.ts'
import { rootOf, type StageNode } from './stage-node.ts'
import { BuildArgs } from './stage-scope.ts'
import { StateCache } from './state-cache.ts'
import { StepList } from './step-list.ts'

/**
 * Runs a build: plan, bases, steps, image, start. Results of earlier builds are reused. If the
 * build fails, everything that it made is removed.
 */
export const runBuild: RunBuild = async (request, bareHost, signal) => {
  const redactor = new Redactor([...Object.values(request.buildSecrets), ...passwordsOf(request)])
  const host = redactingHost(bareHost, redactor)
  const steps = new StepList(host.report)
  const deadline = AbortSignal.timeout(request.timeoutMs)
  try {
    return await carryOut({ request, host, steps, redactor, signal: AbortSignal.any([signal, deadline]) })
  } catch (error) {
    const { current } = steps
    steps.fail()
    signal.throwIfAborted()
    if (deadline.aborted) throw timedOut(request, current)
    throw error instanceof BuildError ? redactedError(error, redactor, current) : error
  }
}

/** A build and its tools. */
interface Build {
  readonly request: BuildRequest
  readonly host: BuildHost
  readonly steps: StepList
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

async function carryOut(build: Build): Promise<BuildResult> {
  const { request, host, steps } = build
  const plan = await makePlan(request, host, build.signal)
  host.report.ignored([...plan.ignored, ...plannedKeys(plan, request)])
  const listed = listSteps(plan, steps)
  const last = addLastSteps(build)
  steps.announce()
  const { context: archive } = request
  const context = archive === null || !readsContext(plan) ? null : await openContext(archive, { signal: build.signal })
  const pull = pullOptions(build, plan)
  await using sources = new BuildSources(host, { request, context, pull })
  host.report.status('pulling')
  const bases = await findBases(plan, host, { steps, listed, pull })
  const args = new BuildArgs(request.buildArgs, plan)
  const target = await resolve(build, { plan, bases, listed, sources, args })
  const ignored = [...plan.ignored, ...ignoredOf(bases), ...skippedOf(target.target, { bases, request })]
  host.report.ignored(ignored)
  const warnings = warningsOf(plan, args)
  for (const message of warnings) host.report.log({ level: 'warn', step: null, message })
  const finished = await produce(build, { ...target, last, sources })
  return { ...finished, buildSettings: target.target.settings, source: rootOf(target.target).source, ignored, warnings }
}

/** The steps after those of the plan. */
interface LastSteps {
  readonly export: number
  /**
   * The number of the step that starts the application, from 1; null if there is none.
   */
  readonly start: number | null
}

function addLastSteps({ request: { startCmd }, steps }: Build): LastSteps {
  const add = (text: string) => steps.add({ text, stage: null, line: null, isCounted: false })
  const number = add('Export the image')
  return { export: number, start: startCmd === null ? null : add(`Start ${startCmd.split('\n')[0]?.slice(0, 200)}`) }
}

interface Resolved {
  readonly target: StageNode
  readonly nodes: ReadonlyMap<number, StageNode>
}

async function resolve(
  { request, host }: Build,
  found: {
    readonly plan: BuildPlan
    readonly bases: ReadonlyMap<number, FoundBase>
    readonly listed: ReadonlyMap<number, StageSteps>
    readonly sources: BuildSources
    readonly args: BuildArgs
  },
): Promise<Resolved> {
  const { plan, sources, args } = found
  const stepContext = {
    args,
    sources,
    policyKey: request.policyKey,
    secrets: new Set(Object.keys(request.buildSecrets)),
  }
  const stateOf = [host.isolation, host.stepSize.cpu, host.stepSize.memoryMiB]
  const target = await resolveStages(plan, { ...found, stepContext, stateOf }, sources.nodes)
  return { target, nodes: sources.nodes }
}

async function produce(
  build: Build,
  { target, nodes, last, sources }: Resolved & { readonly last: LastSteps; readonly sources: BuildSources },
): Promise<Finished> {
  const { request, host, steps, signal, redactor } = build
  const { diskMiB } = request
  const cache = new StateCache(host, request.noCache)
  const key = resultKey(target, request)
  const known = await findFinished(key, { target, request, cache })
  if (known !== null) return allCached(known, steps)
  const works = target.steps.map(({ work }) => work?.type)
  const copiedBytes = works.includes('copy') && request.context !== null ? (await stat(request.context.path)).size : 0
  checkBase({ diskMiB, baseBytes: rootOf(target).sizeBytes }, { runs: works.includes('run'), copiedBytes })
  host.report.status('building')
  const context: StagesContext = {
    host,
    cache,
    steps,
    sources,
    redactor,
    diskMiB,
    signal,
    secrets: request.buildSecrets,
  }
  const image = await cache.retry(() =>
    runStages(nodes, context, async (stage) => {
      const read = async (path: string) => readSmallFile((await stage.runtime()).guest, path, signal)
      const user = await finalUser(target.settings.user, read)
      host.report.status('exporting')
      const { isThere } = stage
      steps.start(last.export)
      const { digest, sizeBytes } = await stage.finish()
      if (isThere) steps.cached(last.export)
      else steps.done(last.export)
      return { digest, sizeBytes, user }
    }),
  )
  checkFinished({ diskMiB, sizeBytes: image.sizeBytes })
  return startFinished(image, { target, request, host, cache, steps, key, step: last.start, signal })
}

function allCached(finished: Finished, steps: StepList): Finished {
  steps.cachedAll()
  return finished
}

function pullOptions({ request, host, steps, signal }: Build, plan: BuildPlan): PullOptions {
  const onProgress = (message: string) => host.report.log({ level: 'info', step: steps.current, message })
  return { auth: pullLogin(request.registryAuth, plan), onProgress, signal }
}

function warningsOf(plan: BuildPlan, args: BuildArgs): readonly string[] {
  const { unused } = args
  const notNamed = `No ARG of the Dockerfile names these build arguments: ${unused.join(', ')}.`
  return [...plan.warnings, ...(unused.length === 0 ? [] : [notNamed]), ...sizedMounts(plan)]
}

function ignoredOf(bases: ReadonlyMap<number, FoundBase>): readonly Ignored[] {
  const reason = 'Triggers of a base image are not run.'
  return [...bases.values()].flatMap(({ settings }) =>
    settings.onBuild.map((trigger) => ({ instruction: `ONBUILD ${trigger.slice(0, 200)}`, line: null, reason })),
  )
}

/** Returns the skipped keys. The settings of the base image show which keys it brings. */
function skippedOf(
  target: StageNode,
  { bases, request }: { readonly bases: ReadonlyMap<number, FoundBase>; readonly request: BuildRequest },
): readonly Ignored[] {
  const lowest = ({ base, stage }: StageNode): number => (base.type === 'stage' ? lowest(base.node) : stage.index)
  const found = bases.get(lowest(target))
  return found === undefined ? [] : skippedKeys(target, found.settings, request)
}

function passwordsOf({ registryAuth }: BuildRequest): readonly string[] {
  return registryAuth === null ? [] : [registryAuth.password]
}

function timedOut({ timeoutMs }: BuildRequest, step: number | null): BuildError {
  return new BuildError('build_timeout', `The build took longer than ${Math.round(timeoutMs / 1000)} seconds.`, {
    hint: 'Raise timeout_secs. Finished steps are in the cache, so the next build continues from there.',
    ...(step === null ? {} : { step }),
  })
}
