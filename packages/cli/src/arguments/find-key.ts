import { isIdParam } from '@holt/protocol'
import { type Holt, HoltError } from '@holt/sdk'
import { shellWord } from '../shell/shell-word.ts'
import { UsageError } from '../verb/verb.ts'

/**
 * Returns the id of a key for a text: the id itself, or the name of exactly one key that is not
 * revoked. Names are those of the project of the key in use, or of `project`.
 */
export async function findKeyId(holt: Holt, text: string, project?: string): Promise<string> {
  if (isIdParam('key_id', text)) return text
  const keys = await holt.keys.list({ limit: 100, ...(project === undefined ? {} : { project }) }).all()
  const [only, ...others] = keys.filter(({ name }) => name === text)
  if (only === undefined)
    throw new HoltError('key_not_found', `No key of the project is named ${text}`, {
      hint: `List the keys: holt key ls${project === undefined ? '' : ` --project ${shellWord(project)}`}`,
    })
  if (others.length > 0)
    throw new UsageError(
      `${others.length + 1} keys are named ${text}. Give the id of one: ${[only, ...others].map(({ key_id }) => key_id).join(', ')}`,
    )
  return only.key_id
}
