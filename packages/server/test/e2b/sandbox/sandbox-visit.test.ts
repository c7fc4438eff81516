import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Api } from '../../../src/api/api.ts'
import { RequestAccounts } from '../../../src/api/http/request-accounts.ts'
import { beginVisit } from '../../../src/e2b/sandbox/sandbox-visit.ts'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import type { RuntimeRow } from '../../../src/foundation/store/tables.ts'
import { OpenVisits } from '../../../src/tenancy/auth/open-visits.ts'

test('a visit whose client has left already leaves nothing', async () => {
  const visits = new OpenVisits()
  const socket = new Socket().on('error', () => {})
  const request = new IncomingMessage(socket)
  const response = new ServerResponse(request)
  response.destroy()
  response.emit('close')
  const asked = { request, response, requestId: 'rq', path: '/health', query: '', route: 'envdHealth', isPlaced: false }
  const row = { project_id: 'pr', runtime_id: 'rt' } as RuntimeRow
  const accounts = new RequestAccounts(connectionLimits)
  const visit = await beginVisit({ visits } as Api, accounts, { asked, row, isStranger: true })
  expect([visits.size, visit.gone.aborted]).toEqual([0, true])
})
