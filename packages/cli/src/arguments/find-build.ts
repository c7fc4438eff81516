import { isIdParam } from '@holt/protocol'
import { type BuildHandle, type Holt, HoltError } from '@holt/sdk'

/**
 * Returns the build for a text: by id, or the newest of a template, by its `name` or `name:tag`.
 */
export async function findBuild(holt: Holt, text: string): Promise<BuildHandle> {
  if (isIdParam('build_id', text)) return holt.builds.get(text)
  const [name = '', tag] = text.split(':')
  for await (const build of holt.builds.list({ name, limit: 100 }))
    if (tag === undefined || build.tag === tag) return build
  throw new HoltError('build_not_found', `There is no build of ${text}`, {
    hint: 'List the builds: holt template builds',
  })
}
