import { z } from 'zod'
import { pageOf, pageQuery } from '../page.ts'
import { CreatePolicy, Policy, PolicyPreset, ReplacePolicy } from '../policy.ts'
import type { Route } from '../route.ts'
import { answer, json, none } from './parts.ts'

const path = '/v1/agents/network-policy'
const params = z.strictObject({ policy_id: z.string().describe('The policy by id or name.') })

/** The routes of stored network policies. */
export const policyRoutes = {
  createPolicy: {
    method: 'POST',
    path,
    runsOn: 'entry',
    summary: 'Store a network policy',
    scope: 'policy:write',
    body: json(CreatePolicy),
    answers: { 201: answer(Policy, 'The policy.') },
    errors: ['name_taken', 'unsupported_media_type', 'quota_exceeded'],
  },
  listPolicies: {
    method: 'GET',
    path,
    runsOn: 'entry',
    summary: 'List network policies',
    scope: 'policy:read',
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(Policy).meta({ id: 'PolicyPage' }), 'A page of policies, newest first.') },
    errors: [],
  },
  getPolicy: {
    method: 'GET',
    path: `${path}/{policy_id}`,
    runsOn: 'entry',
    summary: 'Get a network policy by id or name',
    scope: 'policy:read',
    params,
    body: none,
    answers: { 200: answer(Policy, 'The policy.') },
    errors: ['policy_not_found'],
  },
  replacePolicy: {
    method: 'PUT',
    path: `${path}/{policy_id}`,
    runsOn: 'entry',
    summary: 'Replace a network policy',
    description: 'It applies at once to every runtime with the policy. Connections that it does not allow are closed.',
    scope: 'policy:write',
    params,
    body: json(ReplacePolicy),
    answers: { 200: answer(Policy, 'The policy as it is now.') },
    errors: ['policy_not_found', 'name_taken', 'conflict', 'precondition_failed', 'unsupported_media_type'],
    takesIfMatch: true,
  },
  deletePolicy: {
    method: 'DELETE',
    path: `${path}/{policy_id}`,
    runsOn: 'entry',
    summary: 'Delete a network policy',
    description: 'The service refuses it while runtimes have the policy. The error names them.',
    scope: 'policy:write',
    params,
    body: none,
    answers: { 204: { type: 'none', description: 'Deleted.' } },
    errors: ['policy_not_found', 'in_use'],
  },
  listPresets: {
    method: 'GET',
    path: '/v1/agents/network-preset',
    runsOn: 'entry',
    summary: 'List the presets that policies may include',
    scope: 'policy:read',
    body: none,
    answers: {
      200: answer(
        z.object({ data: z.array(PolicyPreset).describe('The presets.') }).meta({ id: 'PolicyPresets' }),
        'Every preset with its hosts.',
      ),
    },
    errors: [],
  },
} as const satisfies Record<string, Route>
