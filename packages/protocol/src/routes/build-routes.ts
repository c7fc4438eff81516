import { z } from 'zod'
import { Build, BuildRequest, BuildStarted, PullTemplate } from '../build.ts'
import { BuildContext } from '../build-context.ts'
import { BuildLogItem } from '../build-log.ts'
import { CheckDockerfile, DockerfileCheck } from '../check-dockerfile.ts'
import { CreateBuild } from '../create-build.ts'
import { idSchema } from '../ids.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { Text } from '../text.ts'
import { answer, json, none } from './parts.ts'

const base = '/v1/agents/template'
const buildParams = z.strictObject({ build_id: z.string().describe('The id of the build.') })

/** The routes of builds of templates. */
export const buildRoutes = {
  createBuild: {
    method: 'POST',
    path: `${base}/build`,
    runsOn: 'placed',
    summary: 'Build a template',
    description:
      'Starts a build and answers at once. If an equal build is running, it is that build. The template of the name and tag is unchanged until the build is ready.',
    scope: 'template:write',
    body: json(CreateBuild),
    answers: { 202: answer(BuildStarted, 'The build runs, or waits in the queue.') },
    errors: [
      'template_not_found',
      'snapshot_not_found',
      'context_not_found',
      'policy_not_found',
      'name_taken',
      'unsupported_setting',
      'capacity_exhausted',
      'quota_exceeded',
      'not_supported_here',
      'disk_full',
    ],
  },
  listBuilds: {
    method: 'GET',
    path: `${base}/build`,
    runsOn: 'entry',
    summary: 'List builds',
    scope: 'template:read',
    query: z.strictObject({
      ...pageQuery,
      name: Text.max(63).optional().describe('Only builds of the template with this name.'),
      template_id: idSchema('template').optional().describe('Only builds of this template.'),
    }),
    body: none,
    answers: { 200: answer(pageOf(Build).meta({ id: 'BuildPage' }), 'A page of builds, newest first.') },
    errors: [],
  },
  getBuild: {
    method: 'GET',
    path: `${base}/build/{build_id}`,
    runsOn: 'entry',
    summary: 'Get a build',
    scope: 'template:read',
    params: buildParams,
    body: none,
    answers: { 200: answer(Build, 'The build.') },
    errors: ['build_not_found'],
  },
  getBuildRequest: {
    method: 'GET',
    path: `${base}/build/{build_id}/request`,
    runsOn: 'entry',
    summary: 'Get the request of a build',
    description:
      'The body that the build was started with, such as its Dockerfile, so that it can be changed and sent again. It has no secret values.',
    scope: 'template:read',
    params: buildParams,
    body: none,
    answers: { 200: answer(BuildRequest, 'The request, as far as it is kept.') },
    errors: ['build_not_found'],
  },
  cancelBuild: {
    method: 'DELETE',
    path: `${base}/build/{build_id}`,
    runsOn: 'builder',
    summary: 'Cancel a build',
    description: 'Stops the build and removes its results. A build that has ended is unchanged.',
    scope: 'template:write',
    params: buildParams,
    body: none,
    answers: { 200: answer(Build, 'The build, ended.') },
    errors: ['build_not_found'],
  },
  readBuildLogs: {
    method: 'GET',
    path: `${base}/build/{build_id}/logs`,
    runsOn: 'builder',
    summary: "Read a build's log",
    description: 'The log from the beginning or after a cursor. With `follow` it continues until the build has ended.',
    scope: 'template:read',
    params: buildParams,
    query: z.strictObject({
      cursor: z.coerce
        .number()
        .int()
        .min(0)
        .default(0)
        .describe('Answer only log items after this cursor. Default 0: the whole log.'),
      follow: z
        .enum(['true', 'false', '1', '0'])
        .default('false')
        .describe('True: stream log items until the build ends. Default false.'),
    }),
    body: none,
    answers: { 200: { type: 'stream', item: BuildLogItem, description: 'The lines of the log.' } },
    errors: ['build_not_found'],
  },
  pullTemplate: {
    method: 'POST',
    path: `${base}/{template_id}/pull`,
    runsOn: 'placed',
    summary: 'Build an agent template',
    description:
      'Builds an agent template, by its name or id, from the Dockerfile that Holt has for it. A create with that template does the same. With `no_cache` the build uses no results of earlier builds.',
    scope: 'template:write',
    params: z.strictObject({ template_id: z.string().describe('The template by id, name or `name:tag`.') }),
    body: json(PullTemplate),
    answers: { 202: answer(BuildStarted, 'The build runs, or waits in the queue.') },
    errors: ['template_not_found', 'unsupported_setting', 'capacity_exhausted'],
  },
  checkDockerfile: {
    method: 'POST',
    path: `${base}/check`,
    runsOn: 'entry',
    summary: 'Check a Dockerfile',
    description: 'Reports for each instruction that a build supports, ignores or refuses it. Nothing is built.',
    scope: 'template:read',
    body: json(CheckDockerfile),
    answers: { 200: answer(DockerfileCheck, 'What a build would do.') },
    errors: ['capacity_exhausted'],
  },
  uploadContext: {
    method: 'POST',
    path: `${base}/context`,
    runsOn: 'entry',
    summary: 'Upload a build context',
    description: 'A tar stream (or tar.gz) of the files that COPY and ADD read. Equal bytes are the same context.',
    scope: 'template:write',
    body: { type: 'bytes', description: 'The archive.' },
    answers: { 201: answer(BuildContext, 'Stored.') },
    errors: ['invalid_archive', 'disk_full', 'timeout'],
  },
} as const satisfies Record<string, Route>
