import { z } from 'zod'

/**
 * The catalogue of errors: for each code the HTTP status and a hint. `code` is the contract; the
 * message is for people.
 */
export const errorCatalogue = {
  invalid_request: { status: 400, hint: 'Correct the fields named in details.issues and send the request again.' },
  invalid_path: { status: 400, hint: 'Use an absolute path without NUL, `.` or `..`, of at most 4096 bytes.' },
  invalid_archive: { status: 400, hint: 'Correct the entry that the message names, and make the archive again.' },
  is_directory: { status: 400, hint: 'Give the path of a file, or set recursive.' },
  not_a_directory: { status: 400, hint: 'Give the path of a directory.' },
  not_a_file: { status: 400, hint: 'Give the path of a regular file. FIFOs, sockets and devices cannot be opened.' },
  symlink_loop: { status: 400, hint: 'Find the loop with stat on each link, and remove one of the links.' },
  unsupported_setting: { status: 400, hint: 'Remove the setting, or use a value that the message names.' },
  unauthenticated: { status: 401, hint: 'Send a valid key as Authorization: Bearer KEY.' },
  forbidden: { status: 403, hint: 'Use a key with the scope in details.scope.' },
  path_permission_denied: {
    status: 403,
    hint: 'Check whether the path is on a read-only mount or is an immutable file.',
  },
  runtime_not_found: { status: 404, hint: 'List the runtimes: GET /v1/agents/runtime.' },
  template_not_found: { status: 404, hint: 'List the templates: GET /v1/agents/template.' },
  build_not_found: { status: 404, hint: 'List the builds: GET /v1/agents/template/build.' },
  context_not_found: { status: 404, hint: 'Upload the context: POST /v1/agents/template/context.' },
  command_not_found: { status: 404, hint: 'List the commands of the runtime.' },
  session_not_found: { status: 404, hint: 'List the sessions of the runtime.' },
  code_context_not_found: { status: 404, hint: 'List the code contexts of the runtime.' },
  code_run_not_found: { status: 404, hint: 'Run the code again. The interpreter keeps only the newest runs.' },
  language_not_found: { status: 404, hint: 'Use one of the languages that the message names.' },
  snapshot_not_found: { status: 404, hint: 'List the snapshots: GET /v1/agents/snapshot.' },
  policy_not_found: { status: 404, hint: 'List the network policies: GET /v1/agents/network-policy.' },
  secret_not_found: { status: 404, hint: 'List the secrets: GET /v1/agents/secret.' },
  provider_not_found: { status: 404, hint: 'List the identity providers: GET /v1/agents/identity-provider.' },
  key_not_found: { status: 404, hint: 'List the keys: GET /v1/agents/key.' },
  webhook_not_found: { status: 404, hint: 'List the webhooks: GET /v1/agents/webhook.' },
  delivery_not_found: { status: 404, hint: 'List the deliveries of the webhook.' },
  project_not_found: { status: 404, hint: 'List the projects: GET /v1/agents/project.' },
  host_not_found: { status: 404, hint: 'List the hosts: GET /v1/agents/host.' },
  join_token_not_found: { status: 404, hint: 'List the tokens: GET /v1/agents/join-token.' },
  path_not_found: { status: 404, hint: 'Check the path: list its parent directory.' },
  route_not_found: { status: 404, hint: 'See /docs or /openapi.json for every route.' },
  method_not_allowed: { status: 405, hint: 'Use a method named in the Allow header.' },
  already_exists: { status: 409, hint: 'Set overwrite, or choose another destination.' },
  directory_not_empty: { status: 409, hint: 'Set recursive to remove the directory with its entries.' },
  runtime_paused: {
    status: 409,
    hint: 'Resume the runtime: POST .../resume. With auto_resume, any request resumes it.',
  },
  runtime_not_running: { status: 409, hint: 'Read the runtime: state and state_reason give the cause.' },
  name_taken: { status: 409, hint: 'Choose another name, or delete the object that has this name.' },
  in_use: { status: 409, hint: 'First remove the objects that use it.' },
  conflict: { status: 409, hint: 'Read the current state and try again.' },
  code_interpreter_missing: {
    status: 409,
    hint: 'Create a runtime from the template code-interpreter, or from a template that starts its interpreter.',
  },
  idempotency_in_progress: {
    status: 409,
    hint: 'Wait until the first request with this key has ended, then send the request again.',
  },
  runtime_terminated: { status: 410, hint: 'Create a new runtime.' },
  cursor_expired: { status: 410, hint: 'Leave the cursor out to begin with the oldest entry that is kept.' },
  precondition_failed: {
    status: 412,
    hint: 'Read it again, and make the change to its present version.',
  },
  too_large: { status: 413, hint: 'Send less. The message states the limit.' },
  unsupported_media_type: { status: 415, hint: 'Send application/json, or bytes where the route takes a file.' },
  range_not_satisfiable: { status: 416, hint: 'Request a range inside the file. stat returns its size.' },
  digest_mismatch: {
    status: 422,
    hint: 'Compute the digest again, and send the bytes again: one of both is wrong.',
  },
  upgrade_required: { status: 426, hint: 'Open this route as a WebSocket (RFC 6455).' },
  idempotency_mismatch: { status: 422, hint: 'Use a new Idempotency-Key for another request.' },
  disk_too_small: { status: 422, hint: 'Request a larger disk.' },
  start_cmd_failed: { status: 422, hint: "Correct the template's start_cmd. The message has the end of its output." },
  ready_cmd_failed: { status: 422, hint: "Correct the template's ready_cmd. The message says why it cannot run." },
  ready_timeout: { status: 422, hint: "Correct the template's start_cmd or ready_cmd, or raise ready_timeout_secs." },
  on_restore_failed: { status: 422, hint: "Correct the template's on_restore. The message has the end of its output." },
  snapshot_incompatible: {
    status: 422,
    hint: 'Use a filesystem snapshot, which boots everywhere. A memory snapshot needs the engine and the CPU of its creation.',
  },
  snapshot_damaged: {
    status: 422,
    hint: 'Delete the snapshot and check the disk: its files have changed since they were written.',
  },
  rate_limited: { status: 429, hint: 'Wait for the seconds in Retry-After, then try again.' },
  quota_exceeded: {
    status: 429,
    hint: 'Delete unused objects, or ask the operator to raise the quota in details.quota.',
  },
  internal: { status: 500, hint: 'Try again. If the error repeats, give the operator the request_id.' },
  not_supported_here: {
    status: 501,
    hint: 'Run `holt doctor` on the host. It lists missing parts and how to install them.',
  },
  port_not_listening: {
    status: 502,
    hint: 'Start the server inside the runtime. GET .../ports/{port}?wait_secs= waits for it.',
  },
  port_failed: {
    status: 502,
    hint: "Check the program's output. The program closed the connection, or does not speak HTTP.",
  },
  code_interpreter_failed: {
    status: 502,
    hint: 'Create a new runtime: a program inside may have ended or replaced the interpreter.',
  },
  unavailable: { status: 503, hint: 'Try again shortly.' },
  capacity_exhausted: { status: 503, hint: 'Try again after a runtime has ended, or add capacity.' },
  timeout: { status: 504, hint: 'Try again, or request less at once.' },
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
        code: z.string().describe('The error code, from the catalogue. Programs can rely on it.'),
        message: z.string().describe('A sentence for people that says what happened.'),
        hint: z.string().optional().describe('The next step to take; absent if none is known.'),
        details: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Details for programs, such as `issues` with the wrong fields; absent if there are none.'),
        request_id: z.string().describe('The id of the request, for the operator.'),
      })
      .describe('The error.'),
  })
  .meta({ id: 'Error' })

/** An error answer. */
export type ErrorBody = z.infer<typeof ErrorBody>
