import { z } from 'zod'

/**
 * The catalogue of errors: for each code the HTTP status and a hint. `code` is the contract; the
 * message is for people.
 */
export const errorCatalogue = {
  invalid_request: { status: 400, hint: 'Correct the fields named in details.issues and send the request again.' },
  invalid_path: { status: 400, hint: 'Use an absolute path without NUL, `.` or `..`, of at most 4096 bytes.' },
  invalid_archive: { status: 400, hint: 'Make the archive again: the message names the entry that is wrong, and why.' },
  is_directory: { status: 400, hint: 'Name a file, or set recursive.' },
  not_a_directory: { status: 400, hint: 'Name a directory.' },
  not_a_file: { status: 400, hint: 'Name a regular file: FIFOs, sockets and devices are not opened.' },
  symlink_loop: { status: 400, hint: 'Follow the links with stat to find the loop.' },
  unsupported_setting: { status: 400, hint: 'Leave the setting out, or use a value the message names.' },
  unauthenticated: { status: 401, hint: 'Send a valid key as Authorization: Bearer KEY.' },
  forbidden: { status: 403, hint: 'Use a key that has the scope named in details.scope.' },
  path_permission_denied: {
    status: 403,
    hint: 'The file system refused it: check for a read-only mount or an immutable file.',
  },
  runtime_not_found: { status: 404, hint: 'List the runtimes: GET /v1/agents/runtime.' },
  template_not_found: { status: 404, hint: 'List the templates: GET /v1/agents/template.' },
  build_not_found: { status: 404, hint: 'List the builds: GET /v1/agents/template/build.' },
  context_not_found: { status: 404, hint: 'Upload the context: POST /v1/agents/template/context.' },
  command_not_found: { status: 404, hint: 'List the commands of the runtime.' },
  session_not_found: { status: 404, hint: 'List the sessions of the runtime.' },
  snapshot_not_found: { status: 404, hint: 'List the snapshots: GET /v1/agents/snapshot.' },
  policy_not_found: { status: 404, hint: 'List the network policies: GET /v1/agents/network-policy.' },
  secret_not_found: { status: 404, hint: 'List the secrets: GET /v1/agents/secret.' },
  provider_not_found: { status: 404, hint: 'List the identity providers: GET /v1/agents/identity-provider.' },
  key_not_found: { status: 404, hint: 'List the keys: GET /v1/agents/key.' },
  webhook_not_found: { status: 404, hint: 'List the webhooks: GET /v1/agents/webhook.' },
  delivery_not_found: { status: 404, hint: 'List the deliveries of the webhook.' },
  project_not_found: { status: 404, hint: 'List the projects: GET /v1/agents/project.' },
  path_not_found: { status: 404, hint: 'List the parent directory to see what is there.' },
  route_not_found: { status: 404, hint: 'See /docs or /openapi.json for every route.' },
  method_not_allowed: { status: 405, hint: 'Use a method named in the Allow header.' },
  already_exists: { status: 409, hint: 'Set overwrite, or choose another destination.' },
  directory_not_empty: { status: 409, hint: 'Set recursive to remove what is inside as well.' },
  runtime_paused: { status: 409, hint: 'Resume it: POST .../resume. With auto_resume a request does that.' },
  runtime_not_running: { status: 409, hint: 'Read the runtime: its state and state_reason say why.' },
  name_taken: { status: 409, hint: 'Choose another name, or delete what has it.' },
  in_use: { status: 409, hint: 'Remove what uses it first.' },
  conflict: { status: 409, hint: 'Read the current state and try again.' },
  idempotency_in_progress: { status: 409, hint: 'The first request with this key still runs: wait and send it again.' },
  runtime_terminated: { status: 410, hint: 'Create a new runtime.' },
  cursor_expired: { status: 410, hint: 'Begin with the oldest that is kept: leave the cursor out.' },
  too_large: { status: 413, hint: 'Send less: the limit is in the message.' },
  unsupported_media_type: { status: 415, hint: 'Send application/json, or bytes where the route takes a file.' },
  range_not_satisfiable: { status: 416, hint: 'Ask for a range inside the file: stat tells its size.' },
  digest_mismatch: {
    status: 422,
    hint: 'The bytes changed on their way, or the digest is of others: send both again.',
  },
  upgrade_required: { status: 426, hint: 'Open it as a WebSocket (RFC 6455).' },
  idempotency_mismatch: { status: 422, hint: 'Use a new Idempotency-Key for another request.' },
  disk_too_small: { status: 422, hint: 'Ask for a larger disk.' },
  start_cmd_failed: { status: 422, hint: "Correct the template's start_cmd: the message has what it wrote last." },
  ready_cmd_failed: { status: 422, hint: "Correct the template's ready_cmd: the message says why it cannot be run." },
  ready_timeout: { status: 422, hint: "Correct the template's start_cmd or ready_cmd, or allow it more time." },
  on_restore_failed: { status: 422, hint: "Correct the template's on_restore: the message has what it wrote last." },
  snapshot_incompatible: {
    status: 422,
    hint: 'A memory snapshot needs the engine and the CPU it was made with. A filesystem snapshot boots everywhere.',
  },
  snapshot_damaged: { status: 422, hint: 'Its files are not what was written. Delete it, and look after the disk.' },
  rate_limited: { status: 429, hint: 'Wait as long as Retry-After says.' },
  quota_exceeded: {
    status: 429,
    hint: 'Delete what is not needed, or have the operator raise the quota named in details.quota.',
  },
  internal: { status: 500, hint: 'Try again; if it stays, give the operator the request_id.' },
  not_supported_here: {
    status: 501,
    hint: 'Run `holt doctor` on the host: it says what is missing and how to get it.',
  },
  port_not_listening: {
    status: 502,
    hint: 'Start the server inside the runtime; wait for it with GET .../ports/{port}?wait_secs=.',
  },
  port_failed: { status: 502, hint: "Look at the program's output: it broke off, or does not speak HTTP." },
  unavailable: { status: 503, hint: 'Try again shortly.' },
  capacity_exhausted: { status: 503, hint: 'Try again when a runtime has ended, or add capacity.' },
  timeout: { status: 504, hint: 'Try again, or ask for less at once.' },
  disk_full: { status: 507, hint: 'Free space on the disk named in the message.' },
} as const satisfies Record<string, { status: number; hint: string }>

/** A code of the catalogue. */
export type ErrorCode = keyof typeof errorCatalogue

/** A fault of one field. */
export interface FieldIssue {
  /** The field: a JSON pointer (RFC 6901) into the body, or `/query/NAME`, `/path/NAME`. */
  readonly pointer: string
  /** The description of the fault. */
  readonly message: string
}

/** The facts of an error for programs. */
export interface ErrorDetails {
  /** The wrong fields of a request. */
  readonly issues?: readonly FieldIssue[]
  readonly [name: string]: unknown
}

/**
 * The one error that crosses package borders and becomes an answer. Its message never contains host
 * paths, SQL or data of other tenants.
 */
export class HoltError extends Error {
  /** The code for programs: a key of `errorCatalogue`. */
  readonly code: ErrorCode
  /** The HTTP status of the code. */
  readonly status: number
  /** A remedy, in one sentence. */
  readonly hint: string
  /**
   * The facts for programs, such as `issues` with the wrong fields; undefined if there are none.
   */
  readonly details: ErrorDetails | undefined
  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorDetails; hint?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'HoltError'
    this.code = code
    this.status = errorCatalogue[code].status
    this.hint = options.hint ?? errorCatalogue[code].hint
    this.details = options.details
  }
}

/** The schema of an error answer. */
export const ErrorBody = z
  .object({
    error: z
      .object({
        code: z.string().describe('The error code, from the catalogue: the contract for programs.'),
        message: z.string().describe('What happened, in a sentence for people.'),
        hint: z.string().optional().describe('What to do next.'),
        details: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Facts for programs, such as `issues` with the wrong fields.'),
        request_id: z.string().describe('The id of the request, for the operator.'),
      })
      .describe('What went wrong.'),
  })
  .meta({ id: 'Error' })

/** An error answer. */
export type ErrorBody = z.infer<typeof ErrorBody>
