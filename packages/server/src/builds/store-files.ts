import { Readable } from 'node:stream'
import { makeId } from '@holt/protocol'
import { type Entry, writeTar } from '@holt/tar'
import type { TemplateFile } from '../resources/agents/agent-template.ts'
import type { Builds } from './builds.ts'
import { storeContext } from './store-context.ts'

/**
 * Stores the files of a template as a build context, and returns its id. Equal files have equal
 * bytes, so they return the existing context.
 */
export async function storeFiles(service: Builds, projectId: string, files: readonly TemplateFile[]): Promise<string> {
  const body = Readable.from(writeTar(entriesOf(files)))
  const gone = new AbortController().signal
  const { context_id } = await storeContext(service, { projectId, contextId: makeId('context'), body, gone })
  return context_id
}

async function* entriesOf(files: readonly TemplateFile[]): AsyncGenerator<Entry> {
  for (const { path, content } of files)
    yield {
      type: 'file',
      path,
      mode: 0o644,
      uid: 0,
      gid: 0,
      mtimeSecs: 0,
      mtimeNanos: 0,
      size: content.length,
      body: Readable.from([content]),
    }
}
