import { z } from 'zod'
import type { Route } from '../route.ts'
import { Health, Readiness } from '../service.ts'
import { answer, none } from './parts.ts'

/** The routes of the service itself. */
export const serviceRoutes = {
  health: {
    method: 'GET',
    path: '/healthz',
    runsOn: 'entry',
    summary: 'Whether the service answers',
    scope: null,
    body: none,
    answers: { 200: answer(Health, 'The service is alive.') },
    errors: [],
  },
  readiness: {
    method: 'GET',
    path: '/readyz',
    runsOn: 'entry',
    summary: 'Whether runtimes can be made',
    scope: null,
    body: none,
    answers: {
      200: answer(Readiness, 'Requests can be served.'),
      503: answer(Readiness, 'Requests cannot be served, with the reasons.'),
    },
    errors: [],
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    runsOn: 'entry',
    summary: 'This description',
    scope: null,
    body: none,
    answers: { 200: answer(z.record(z.string(), z.unknown()).meta({ id: 'OpenApi' }), 'OpenAPI 3.1.') },
    errors: [],
  },
  docs: {
    method: 'GET',
    path: '/docs',
    runsOn: 'entry',
    summary: 'The documentation, to read',
    scope: null,
    body: none,
    answers: { 308: { type: 'none', description: 'A redirect to the pages below `/docs/`, which need no key.' } },
    errors: [],
  },
} as const satisfies Record<string, Route>
