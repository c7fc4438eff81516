import type { BuildHost } from '../contract/build-contract.ts'
import { BuildError } from '../errors.ts'
import type { Redactor } from '../output/redact.ts'

/** Returns the same host with a log that removes secret values from every message. */
export function redactingHost(host: BuildHost, redactor: Redactor): BuildHost {
  const { engine, isolation, workDir, stepSize, images, cache, report } = host
  return {
    ...{ engine, isolation, workDir, stepSize, images, cache },
    planDockerfile: (text, options, signal) => host.planDockerfile(text, options, signal),
    findTemplate: (reference) => host.findTemplate(reference),
    findSnapshot: (reference) => host.findSnapshot(reference),
    fetch: (url, signal) => host.fetch(url, signal),
    newRuntime: () => host.newRuntime(),
    newCheckpointId: () => host.newCheckpointId(),
    report: {
      status: (status) => report.status(status),
      steps: (steps) => report.steps(steps),
      ignored: (ignored) => report.ignored(ignored),
      log: (line) => report.log({ ...line, message: redactor.redact(line.message) }),
    },
  }
}

/**
 * Returns the same failure without secret values. If it names no step, it gets the step that ran.
 */
export function redactedError(error: BuildError, redactor: Redactor, step: number | null): BuildError {
  const { code, message, hint, details, cause } = error
  const number = error.step ?? step
  return new BuildError(code, redactor.redact(message), {
    details,
    cause,
    ...(hint === null ? {} : { hint: redactor.redact(hint) }),
    ...(number === null ? {} : { step: number }),
  })
}
