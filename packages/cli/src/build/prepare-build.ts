import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { type CreateBuildInput, type Holt, HoltError, readsContext } from '@holt/sdk'
import { type BuildOptions, buildBody } from '../arguments/build-options.ts'
import { dropUndefined } from '../arguments/create-options.ts'
import { TransferLine } from '../copy/transfer-line.ts'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import type { ProgressKind } from './choose-view.ts'

/** Reads the Dockerfile in `-f`, else the one of the directory. */
export async function readDockerfile(
  directory: string,
  file: string | undefined,
): Promise<{ readonly text: string; readonly path: string | null }> {
  if (file === '-') return { text: await textOf(process.stdin), path: null }
  const path = file ?? join(directory, 'Dockerfile')
  try {
    return { text: await readFile(path, 'utf8'), path }
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    throw new HoltError('path_not_found', `There is no Dockerfile ${path}`, {
      hint: 'Give it with -f, or start from an image: --from-image python:3.12-slim --run "pip install flask"',
    })
  }
}

/** Returns all inputs of a build: the body, and the part of the directory that is sent. */
export async function prepareBuild(
  holt: Holt,
  directory: string,
  options: BuildOptions & { readonly progress?: ProgressKind },
  signal: AbortSignal,
): Promise<CreateBuildInput> {
  const body = await buildBody(options)
  const begun = body.from_image ?? body.from_template ?? body.from_snapshot
  if (begun !== undefined) {
    const read = (body.steps ?? []).flatMap((step) => ('copy' in step ? step.copy.source : []))
    return read.length === 0 ? body : { ...body, context_id: await send({ holt, directory, signal, read, options }) }
  }
  const { text, path } = await readDockerfile(directory, options.file)
  const withText = { ...body, dockerfile: text }
  await requireBuildable(holt, withText, signal)
  if (!readsContext(text)) return withText
  const sent = await send({ holt, directory, signal, options, ...(path === null ? {} : { dockerfile: path }) })
  return { ...withText, context_id: sent }
}

/** Throws if a build would refuse the Dockerfile, before anything is sent or pulled. */
async function requireBuildable(
  holt: Holt,
  { dockerfile, target, build_args }: CreateBuildInput & { readonly dockerfile: string },
  signal: AbortSignal,
): Promise<void> {
  const check = await holt.templates
    .check(dropUndefined({ dockerfile, target, build_args }), { signal })
    .catch((error: unknown) => {
      // The build itself reports a fault of the key or the Dockerfile.
      if (error instanceof HoltError) return null
      throw error
    })
  const refused = check?.lines.filter(({ verdict }) => verdict === 'refused') ?? []
  if (refused.length === 0) return
  const lines = refused.map(({ line, reason, text }) => `Line ${line}: ${reason ?? text}`)
  const fixes = new Set(refused.flatMap(({ fix }) => fix ?? []))
  throw new HoltError('invalid_request', `dockerfile_invalid: ${lines.join('\n')}`, {
    hint:
      fixes.size > 0
        ? [...fixes].join(' ')
        : 'Correct the line. To see how a build treats each line: holt template check',
  })
}

async function send(job: {
  readonly holt: Holt
  readonly directory: string
  readonly signal: AbortSignal
  readonly options: { readonly progress?: ProgressKind }
  readonly dockerfile?: string
  /** The paths that are copied, if known. */
  readonly read?: readonly string[]
}): Promise<string> {
  const { holt, directory, signal, options, dockerfile, read } = job
  const line = options.progress === 'quiet' ? null : new TransferLine('Sending the context')
  try {
    const { context_id, skipped } = await holt.builds.uploadContext(directory, {
      signal,
      onProgress: (progress) => line?.update(progress),
      ...(dockerfile === undefined ? {} : { dockerfile }),
      ...(read === undefined ? {} : { only: read }),
    })
    line?.clear()
    for (const { path, reason } of skipped) say(`holt: left out ${printable(path)}: ${reason}`)
    return context_id
  } finally {
    line?.clear()
  }
}
