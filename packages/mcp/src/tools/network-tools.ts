import { z } from 'zod'
import { jsonResult, linesResult, textResult } from '../results/results.ts'
import { readsOnly, runtimeTool, type Tool } from './tool.ts'

/** The maximum number of decisions of one result: the newest. */
const maxDecisions = 100

const log = runtimeTool({
  name: 'network_log',
  title: 'Read the network log',
  description:
    'Lists the newest connections that programs in a runtime tried to open, one JSON object per line, each with the decision of the network policy and its rule.',
  routes: ['getRuntime', 'readNetworkLog'],
  annotations: readsOnly,
  fields: {
    denied: z.boolean().default(false).describe('True: only denied connections. Default false.'),
    limit: z.number().int().min(1).max(maxDecisions).default(30).describe('The most decisions. Default 30.'),
  },
  run: async ({ denied, limit }, { runtime, signal }) => {
    if (runtime.network_policy === null) return textResult('The runtime has no network policy, so it reaches nothing.')
    const newest: object[] = []
    let count = 0
    for await (const item of runtime.network.log({ denied, signal })) {
      if (!('rule' in item)) continue
      const { at, type, allowed, name, address, port, rule, method, path } = item
      newest.push({
        at,
        type,
        allowed,
        host: name ?? address,
        port,
        rule,
        ...(method === null ? {} : { method, path }),
      })
      count += 1
      if (newest.length > limit) newest.shift()
    }
    if (count === 0) return textResult(denied ? 'Nothing was denied.' : 'Nothing was tried.')
    return linesResult(newest, count > newest.length ? `[${count - newest.length} older decisions left out]` : '')
  },
})

const suggest = runtimeTool({
  name: 'suggest_network_policy',
  title: 'Suggest a network policy',
  description:
    'Returns the rules that would allow the connections that were denied in a runtime. It changes nothing: a person decides, with holt net set or the API.',
  routes: ['getRuntime', 'suggestNetwork'],
  annotations: readsOnly,
  fields: {},
  run: async (_args, { runtime, signal }) => {
    const { add, remarks, denied } = await runtime.network.suggest({ signal })
    return denied === 0 ? textResult('Nothing was denied.') : jsonResult({ denied, add, remarks })
  },
})

/** The tools of the network. None of them changes the policy of a runtime. */
export const networkTools: readonly Tool[] = [log, suggest]
