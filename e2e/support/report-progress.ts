import { pageOf, Template } from '@holt/protocol'
import { send } from './http.ts'

/** Prints how far the base template is, a line for each step or tenth. */
export function reportProgress(url: string): (key: string | null, reasons: readonly string[]) => Promise<void> {
  let last = ''
  return async (key, reasons) => {
    const line = (key === null ? null : await templateProgress(url, key)) ?? reasons.join('; ')
    if (line !== last) console.log(`holtd: ${line}`)
    last = line
  }
}

async function templateProgress(url: string, key: string): Promise<string | null> {
  const answer = await send(url, {
    method: 'GET',
    target: '/v1/agents/template',
    headers: { authorization: `Bearer ${key}` },
  })
  if (answer.status !== 200) return null
  const { data } = pageOf(Template).parse(JSON.parse(answer.bytes.toString()))
  const building = data.find(({ progress }) => progress !== null)
  if (!building?.progress) return null
  const { phase, done, total } = building.progress
  return `${building.name}: ${phase} ${Math.floor((10 * done) / Math.max(total, 1)) * 10} %`
}
